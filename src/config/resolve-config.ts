import { ConfigError } from '../errors.ts'
import { optionFaults } from '../protocol/option-faults.ts'
import { readAgents } from './check-agents.ts'
import { readBackend } from './check-backend.ts'
import { exampleOf, readPlans, readRoutes } from './check-catalog.ts'
import { readCredential } from './check-credential.ts'
import { checkCredits } from './check-credits.ts'
import { readLimits } from './check-limits.ts'
import { checkMetered } from './check-metered.ts'
import { readChain, readGasShare, readWallet } from './check-network-settings.ts'
import { checkPaths } from './check-paths.ts'
import { readReceipts } from './check-receipts.ts'
import { checkResource } from './check-resource.ts'
import { readFactories, readRefundKey, readSettlement } from './check-settlement.ts'
import { readShopWindow } from './check-shop-window.ts'
import { readSecretKey, readStore } from './check-store.ts'
import { readWebhooks } from './check-webhooks.ts'
import { readPlaces } from './network-places.ts'
import { createOptionReader, kindOf, type OptionReader } from './option-reader.ts'
import { type GatewayOptions, OPTION_NAMES, type OptionSource } from './options.ts'
import type { NetworkConfig, ResolvedConfig } from './resolved-config.ts'
import { baseUrlFault, templateFault, templatePath } from './url-fault.ts'

/** `config` is defined if and only if nothing is wrong and nothing is missing. */
export interface CheckedConfig {
  config?: ResolvedConfig
  faults: string[]
  missing: string[]
}

/**
 * Checks every option and fills in defaults. Pure: no file, network or clock.
 *
 * @example
 * const plans = [{ planId: 'basic', unitAmount: '$1.00' }]
 * const config = resolveConfig({ walletAddress: '0x…', plans, tokenSecret: process.env.TOKEN_SECRET })
 */
export function resolveConfig(options: GatewayOptions, source: OptionSource = {}): ResolvedConfig {
  const { config, faults, missing } = checkConfig(options, source)
  if (!config) throw new ConfigError([...missing, ...faults])
  return config
}

/** Like {@link resolveConfig}, but returns faults and missing options separately instead of throwing. */
export function checkConfig(options: GatewayOptions, source: OptionSource = {}): CheckedConfig {
  if (typeof options !== 'object' || options === null) {
    return {
      faults: [`createGateway was given ${kindOf(options)}; it takes an object of options.`],
      missing: [],
    }
  }
  const reader = createOptionReader(options, source)
  refuseUnknown(reader, options)
  const places = readPlaces(reader, options, source)
  const networks = places.flatMap(({ network }) => network ?? [])
  const wallets = places.map((place) => readWallet(place, networks))
  const plans = readPlans(reader)
  const routes = readRoutes(reader)
  refuseEmptyCatalog(reader)
  // Faulty routes count as routes: a seller who sells only calls is not asked for what plans need.
  const sellsPlans = reader.isGiven('plans') || !reader.isGiven('routes')
  const credential = readCredential(reader, sellsPlans)
  checkCredits(reader, plans, credential)
  const settlements = places.map(readSettlement)
  checkMetered(
    places.map((place, index) => ({ place, settlement: settlements[index] })),
    routes,
  )
  const refundKeys = places.map((place) => readRefundKey(place.reader))
  const allowedWalletFactories = readFactories(reader)
  const store = readStore(reader, networks[0])
  const secretKey = readSecretKey(reader, store)
  const receipts = readReceipts(reader)
  const baseUrl = readBaseUrl(reader)
  const resourceEndpoint = readResourceEndpoint(reader, baseUrl)
  const backend = readBackend(reader, baseUrl)
  const signs = credential.kind === 'hs256' || credential.kind === 'rs256'
  const guards = backend.kind === 'proxy' && signs && plans.length > 0
  const guarded = guards ? templatePath(resourceEndpoint, baseUrl) : undefined
  checkPaths(reader, routes, { answersRoutes: backend.kind !== 'embedded', guarded })
  checkResource(reader, { plans, credential, backend, baseUrl, resourceEndpoint, guarded })
  const chains = places.map(readChain)
  const maxGasShare = readGasShare(reader)
  const limits = readLimits(reader)
  const agents = readAgents(reader)
  // If the seller cannot have handlers of its own, the backend has been reported as missing already.
  const embedded = routes.length > 0 && backend.kind === 'embedded' && reader.settable('fetchResource')
  if (agents.mcp?.routes && embedded) {
    reader.fault('mcp.routes', 'needs proxyTo or fetchResource: handlers of your own server cannot be tools.')
  }
  const agentName = reader.text('agentName') ?? 'paystile'
  const rest = {
    agentName,
    shopWindow: readShopWindow(reader, agentName),
    agentDescription: reader.text('agentDescription') ?? 'API access for USDC',
    trustProxy: reader.flag('trustProxy'),
    hooks: readHooks(reader),
    ...readWebhooks(
      reader,
      networks.some(({ testnet }) => !testnet),
    ),
    onAlert: reader.callback('onAlert'),
  }
  const [preferred, ...further] = places.flatMap(({ reader: { label } }, index): NetworkConfig[] => {
    const [chain, walletAddress, settlement] = [chains[index], wallets[index], settlements[index]]
    if (!chain || !walletAddress || !settlement) return []
    const facilitatorUrl = settlement.kind === 'facilitator' ? settlement.url : chain.facilitatorUrl
    const network = { ...chain, facilitatorUrl }
    return [
      {
        network,
        walletAddress,
        settlement,
        refundWalletPrivateKey: refundKeys[index]!,
        labels: labelsOf(label),
      },
    ]
  })
  if (reader.faults.length + reader.missing.length > 0 || !preferred) {
    // What is wrong with an option that all networks share is found once per network.
    return { faults: [...new Set(reader.faults)], missing: [...new Set(reader.missing)] }
  }
  const config: ResolvedConfig = {
    ...limits,
    ...agents,
    ...receipts,
    ...rest,
    networks: [preferred, ...further],
    maxGasShare,
    plans,
    routes,
    backend,
    guardedPath: guarded ?? null,
    baseUrl,
    resourceEndpoint,
    allowedWalletFactories,
    store,
    secretKey,
    credential,
  }
  return { config, faults: [], missing: [] }
}

function refuseUnknown(reader: OptionReader, options: GatewayOptions): void {
  reader.faults.push(...optionFaults(options, OPTION_NAMES))
}

function labelsOf(label: OptionReader['label']): NetworkConfig['labels'] {
  return {
    rpcUrl: label('rpcUrl'),
    walletAddress: label('walletAddress'),
    gasWalletPrivateKey: label('gasWalletPrivateKey'),
    facilitatorUrl: label('facilitatorUrl'),
    settlerContract: label('settlerContract'),
  }
}

function refuseEmptyCatalog(reader: OptionReader): void {
  if (reader.isGiven('plans') || reader.isGiven('routes')) return
  const label = reader.label('plans')
  const example = label === 'plans' ? `plans: ${exampleOf('plans')}` : `${label}='${exampleOf('plans')}'`
  reader.miss(['plans', 'routes'], `there is nothing to sell yet, for example ${example}`)
}

function readBaseUrl(reader: OptionReader): string {
  const standard = 'http://localhost:3000'
  const url = reader.url('baseUrl', 'https://pay.example.com') ?? standard
  const fault = baseUrlFault(url)
  if (fault)
    reader.fault('baseUrl', `${fault}, for example ${reader.example('baseUrl', 'https://pay.example.com')}`)
  return url.replace(/\/+$/, '')
}

function readResourceEndpoint(reader: OptionReader, baseUrl: string): string {
  const template = reader.text('resourceEndpoint')?.trim() ?? `${baseUrl}/resource/{resourceId}`
  const fault = templateFault(template)
  if (fault) {
    const example = reader.example('resourceEndpoint', 'https://api.example.com/v1/{resourceId}')
    reader.fault('resourceEndpoint', `${fault}, for example ${example}`)
  }
  return template
}

function readHooks(reader: OptionReader): ResolvedConfig['hooks'] {
  const onPaymentReceived = reader.callback('onPaymentReceived')
  const onRefund = reader.callback('onRefund')
  return { ...(onPaymentReceived && { onPaymentReceived }), ...(onRefund && { onRefund }) }
}
