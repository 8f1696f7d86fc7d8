import type { NetworkConfig, ResolvedConfig } from './resolved-config.ts'

/** Redacting shorter texts would make log lines unreadable. */
const SHORTEST = 6
const SHORTEST_IN_PATH = 16
const SECRET_NAMES = /pass|key|token|secret|auth/i

/** Every value of a configuration that must never be in a log, an alert or an answer. */
export function secretValues(config: ResolvedConfig): string[] {
  const { credential, backend, secretKey, store } = config
  const found: Array<string | null | undefined> = config.networks.flatMap(secretsOfNetwork)
  if (credential.kind === 'hs256') found.push(credential.secret)
  // The lines of a PEM one by one, since line breaks are escaped in JSON.
  const linesOf = (pem: string) => pem.split('\n').filter((line) => !line.includes('-'))
  if (credential.kind === 'rs256') found.push(...linesOf(credential.pem))
  if (config.receiptPrivateKey !== null) found.push(...linesOf(config.receiptPrivateKey))
  if (credential.kind === 'api') found.push(credential.secret, ...partsOf(credential.url))
  if (backend.kind === 'proxy') found.push(backend.secret, ...partsOf(backend.baseUrl))
  if (secretKey.kind === 'given') found.push(...secretKey.list.split(','))
  if (store.kind === 'postgres') found.push(...partsOf(store.url), ...partsOf(store.wakeupsUrl))
  if (store.kind === 'redis') found.push(...partsOf(store.url))
  for (const { url, secrets } of config.webhooks) found.push(...secrets, ...partsOf(url))
  const texts = found.flatMap((text) => {
    const trimmed = text?.trim() ?? ''
    // A key without its 0x prefix is as secret.
    return /^0x[0-9a-f]{64}$/i.test(trimmed) ? [trimmed, trimmed.slice(2)] : [trimmed]
  })
  return [...new Set(texts)].filter((text) => text.length >= SHORTEST)
}

function secretsOfNetwork({ network, settlement, refundWalletPrivateKey }: NetworkConfig) {
  const found: Array<string | null> = [refundWalletPrivateKey, ...network.rpcUrls.flatMap(partsOf)]
  if (settlement.kind === 'gas-wallet') return [...found, ...settlement.privateKeys]
  const auth = settlement.auth.kind === 'cdp' ? Object.values(settlement.auth).map(String) : []
  return [...found, ...partsOf(settlement.url), ...auth]
}

/** The hosts after the first, of a database that has standbys, sentinels or nodes: no parser of URLs accepts them. */
const FURTHER_HOSTS = /^([a-z+]+:\/\/(?:[^@/?#]*@)?[^,@/?#]+),[^@/?#]*/i

/** The password, and parts of path and query that look like keys, as in many RPC URLs. */
function partsOf(listed: string | null): string[] {
  const text = listed?.replace(FURTHER_HOSTS, '$1')
  if (text === undefined || !URL.canParse(text)) return []
  const { username, password, pathname, searchParams } = new URL(text)
  const isKey = (part: string) => part.length >= SHORTEST_IN_PATH
  const values = [...searchParams].filter(([name, value]) => SECRET_NAMES.test(name) || isKey(value))
  // A password equal to the user name is not secret, and redacting it would remove a common word from every line.
  const passwords = password === username ? [] : [password, decoded(password)]
  return [...passwords, ...pathname.split('/').filter(isKey), ...values.map(([, value]) => value)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
