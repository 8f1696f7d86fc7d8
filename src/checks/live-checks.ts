import { addressFault, canonicalKey, privateKeyFault } from '../config/check-wallet.ts'
import type { GatewayOptions } from '../config/options.ts'
import { urlFault } from '../config/url-fault.ts'
import type { Address } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/network.ts'
import { checkChain } from './check-chain.ts'
import { checkFacilitator, checkReachable } from './check-endpoints.ts'
import { checkDataDir, checkPostgres, checkRedis } from './check-stores.ts'
import { checkGasWallets, checkRefundWallet, checkSellerWallet } from './check-wallets.ts'
import type { Check } from './run-checks.ts'

/**
 * All checks of servers and wallets that these options allow, even if the options are unfinished: checks of missing or
 * malformed options are left out, since the configuration's own checks report those.
 *
 * @example
 * import { runChecks } from './run-checks.ts'
 *
 * const findings = await runChecks(liveChecks({ walletAddress: process.env.WALLET_ADDRESS }))
 * for (const { name, level, message, fix } of findings) console.log(level, name, message, fix ?? '')
 */
export function liveChecks(options: GatewayOptions): Check[] {
  const checks: Check[] = []
  const network = findNetwork(text(options.network) ?? 'testnet')
  const rpcUrl = options.rpcUrl === undefined ? network?.rpcUrl : url(options.rpcUrl)
  if (network && rpcUrl) {
    const place = { rpcUrl, network }
    checks.push(checkChain(rpcUrl, network))
    const wallet = text(options.walletAddress)?.trim()
    const payTo = wallet && addressFault(wallet, network.token.address) === undefined ? wallet : undefined
    if (payTo) checks.push(checkSellerWallet(payTo.toLowerCase() as Address, place))
    const gasKeys = keysOf(options.gasWalletPrivateKey)
    if (gasKeys.length > 0) checks.push(checkGasWallets(gasKeys, place))
    const [refundKey] = keysOf(options.refundWalletPrivateKey)
    if (refundKey) checks.push(checkRefundWallet(refundKey, payTo, place))
  }
  if (network && options.gasWalletPrivateKey === undefined) {
    const facilitator =
      options.facilitatorUrl === undefined ? network.facilitatorUrl : url(options.facilitatorUrl)
    const { cdpApiKeyId: apiKeyId, cdpApiKeySecret: apiKeySecret } = options
    const auth =
      apiKeyId && apiKeySecret ? { kind: 'cdp' as const, apiKeyId, apiKeySecret } : { kind: 'none' as const }
    if (facilitator) checks.push(checkFacilitator({ kind: 'facilitator', url: facilitator, auth }, network))
  }
  const backend = url(options.proxyTo?.baseUrl)
  if (backend) checks.push(checkReachable('PROXY_TO_BASE_URL', 'the backend', backend))
  const tokenApi = url(options.issueTokenApi)
  if (tokenApi) checks.push(checkReachable('ISSUE_TOKEN_API', 'the token API', tokenApi))
  checks.push(...storeChecks(options, network?.word === 'mainnet'))
  return checks
}

function storeChecks({ databaseUrl, redisUrl, store }: GatewayOptions, mainnet: boolean): Check[] {
  const dataDir =
    typeof store === 'object' && store !== null && 'dataDir' in store ? text(store.dataDir) : './data'
  return [
    ...(text(databaseUrl) ? [checkPostgres(databaseUrl!)] : []),
    ...(text(redisUrl) ? [checkRedis(redisUrl!, !text(databaseUrl), mainnet)] : []),
    ...(dataDir && store !== 'memory' ? [checkDataDir(dataDir)] : []),
  ]
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

function url(value: unknown): string | undefined {
  const trimmed = text(value)?.trim()
  return trimmed !== undefined && urlFault(trimmed) === undefined ? trimmed : undefined
}

function keysOf(value: unknown) {
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
  return list
    .flatMap((key: unknown) => (typeof key === 'string' ? [key.trim()] : []))
    .filter((key) => privateKeyFault(key) === undefined)
    .map(canonicalKey)
}
