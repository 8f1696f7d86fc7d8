import { readChain, readWallet } from '../config/check-network-settings.ts'
import { readRefundKey, readSettlement } from '../config/check-settlement.ts'
import { VARIABLE_LABELS } from '../config/from-env.ts'
import { type NetworkPlace, readPlaces } from '../config/network-places.ts'
import { createOptionReader } from '../config/option-reader.ts'
import type { GatewayOptions } from '../config/options.ts'
import { urlFault } from '../config/url-fault.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { checkChain } from './check-chain.ts'
import { checkFacilitator, checkReachable } from './check-endpoints.ts'
import { checkGasWalletsApart } from './check-gas-wallets-apart.ts'
import { checkLogo } from './check-logo.ts'
import type { CheckPlace } from './check-place.ts'
import { checkSettler } from './check-settler.ts'
import { checkDataDir, checkPostgres, checkRedis } from './check-stores.ts'
import { checkWalletCode } from './check-wallet-code.ts'
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
  // Findings name variables, without `_FILE`: the setup page shows each beside its field.
  const source = { labels: VARIABLE_LABELS }
  const places = readPlaces(createOptionReader(options, source), options, source)
  const networks = places.flatMap(({ network }) => network ?? [])
  const paid: Array<{ place: CheckPlace; address: Address }> = []
  const settling: Array<{ place: CheckPlace; keys: readonly Hex[] }> = []
  for (const given of places) {
    const address = readWallet(given, networks)
    const place = placeOf(given, networks.length > 1)
    if (!place) continue
    const settlement = readSettlement(given)
    checks.push(...networkChecks(given, place, address, settlement))
    if (address) paid.push({ place, address })
    if (settlement?.kind === 'gas-wallet') settling.push({ place, keys: settlement.privateKeys })
  }
  checks.push(...checkWalletCode(paid))
  const addresses = paid.map(({ address }) => address)
  checks.push(...checkGasWalletsApart(settling, addresses))
  const backend = url(options.proxyTo?.baseUrl)
  if (backend) checks.push(checkReachable('PROXY_TO_BASE_URL', 'the backend', backend))
  const tokenApi = url(options.issueTokenApi)
  if (tokenApi) checks.push(checkReachable('ISSUE_TOKEN_API', 'the token API', tokenApi))
  const { shopWindow } = options
  const logo = typeof shopWindow === 'object' ? url(shopWindow.logoUrl) : undefined
  // A path of this server can be asked for only once the server runs: the standing checks do.
  if (logo?.startsWith('https:')) checks.push(checkLogo(logo))
  checks.push(...storeChecks(options, networks[0]?.testnet === false))
  return checks
}

/** Without RPCs that can be asked, only the facilitator can be checked. */
function placeOf(given: NetworkPlace, several: boolean): CheckPlace | undefined {
  const { network, reader } = given
  if (!network) return undefined
  const label = (option: Parameters<typeof reader.label>[0]) => reader.label(option)
  return {
    network: readChain(given) ?? { ...network, rpcUrls: [] },
    several,
    labels: {
      rpcUrl: label('rpcUrl'),
      walletAddress: label('walletAddress'),
      gasWalletPrivateKey: label('gasWalletPrivateKey'),
      facilitatorUrl: label('facilitatorUrl'),
      settlerContract: label('settlerContract'),
      refundWalletPrivateKey: label('refundWalletPrivateKey'),
    },
  }
}

function networkChecks(
  given: NetworkPlace,
  place: CheckPlace,
  payTo: Address | undefined,
  settlement: ReturnType<typeof readSettlement>,
): Check[] {
  const { rpcUrls }: Network = place.network
  const refundKey = readRefundKey(given.reader)
  const onChain =
    rpcUrls.length === 0
      ? []
      : [
          ...rpcUrls.map((rpcUrl) => checkChain(rpcUrl, place)),
          ...(payTo ? [checkSellerWallet(payTo, place)] : []),
          ...(settlement?.kind === 'gas-wallet' ? [checkGasWallets(settlement.privateKeys, place)] : []),
          ...(settlement?.kind === 'gas-wallet' && settlement.settler ? [checkSettler(place)] : []),
          ...(refundKey ? [checkRefundWallet(refundKey, payTo, place)] : []),
        ]
  return [...onChain, ...(settlement?.kind === 'facilitator' ? [checkFacilitator(settlement, place)] : [])]
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
