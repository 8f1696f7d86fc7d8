import type { ResolvedConfig } from './resolved-config.ts'

/** Shorter texts would hide half of every log line. */
const SHORTEST = 6
const SHORTEST_IN_PATH = 16
const SECRET_NAMES = /pass|key|token|secret|auth/i

/** Every value of a configuration that must never be in a log, an alert or an answer. */
export function secretValues(config: ResolvedConfig): string[] {
  const { settlement, credential, backend, secretKey, store, network } = config
  const found: Array<string | null | undefined> = [config.refundWalletPrivateKey]
  if (settlement.kind === 'gas-wallet') found.push(...settlement.privateKeys)
  else {
    found.push(...partsOf(settlement.url))
    if (settlement.auth.kind === 'cdp') found.push(...Object.values(settlement.auth).map(String))
  }
  if (credential.kind === 'hs256') found.push(credential.secret)
  // A line of a PEM is as good as the whole; in JSON the line breaks are written in another way.
  if (credential.kind === 'rs256')
    found.push(...credential.pem.split('\n').filter((line) => !line.includes('-')))
  if (credential.kind === 'api') found.push(credential.secret, ...partsOf(credential.url))
  if (backend.kind === 'proxy') found.push(backend.secret, ...partsOf(backend.baseUrl))
  if (secretKey.kind === 'given') found.push(...secretKey.list.split(','))
  if (store.kind === 'postgres') found.push(...partsOf(store.url), ...partsOf(store.wakeupsUrl))
  if (store.kind === 'redis') found.push(...partsOf(store.url))
  found.push(...partsOf(network.rpcUrl))
  const texts = found.flatMap((text) => {
    const trimmed = text?.trim() ?? ''
    // A key is as secret without its prefix.
    return /^0x[0-9a-f]{64}$/i.test(trimmed) ? [trimmed, trimmed.slice(2)] : [trimmed]
  })
  return [...new Set(texts)].filter((text) => text.length >= SHORTEST)
}

/** The password, and the parts of path and query that look like keys: many RPC URLs carry one there. */
function partsOf(text: string | null): string[] {
  if (text === null || !URL.canParse(text)) return []
  const { username, password, pathname, searchParams } = new URL(text)
  const isKey = (part: string) => part.length >= SHORTEST_IN_PATH
  const values = [...searchParams].filter(([name, value]) => SECRET_NAMES.test(name) || isKey(value))
  // A password that repeats the user's name hides nothing, and would take that word out of every line.
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
