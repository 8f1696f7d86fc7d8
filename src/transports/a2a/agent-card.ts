import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import { schemesSold } from '../../protocol/schemes-sold.ts'
import { chosenTerms, paidIn } from '../name-networks.ts'

export const X402_V02 = 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2'
export const X402_V01 = 'https://github.com/google-a2a/a2a-x402/v0.1'

export interface CardConfig {
  baseUrl: string
  /** The first is preferred. */
  networks: readonly Network[]
  agentName: string
  agentDescription: string
  agentVersion: string
  provider: { organization: string; url: string } | null
}

/**
 * The agent card. Clients of 0.3 read `url` and `protocolVersion`, those of 1.0 `supportedInterfaces`.
 * `discovery` is what is sold by A2A; `path` is where this server answers it.
 */
export function agentCard(
  config: CardConfig,
  discovery: DiscoveryCatalog,
  { path, streaming }: { path: string; streaming: boolean },
): object {
  const { baseUrl, networks, provider } = config
  const url = baseUrl + path
  const description = `${paymentText(networks)}, authorized off-chain ${howAuthorized(discovery)}.`
  return {
    name: config.agentName,
    description: config.agentDescription,
    url,
    version: config.agentVersion,
    protocolVersion: '0.3.0',
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => {
      return { url, protocolBinding: 'JSONRPC', protocolVersion }
    }),
    ...(provider && { provider }),
    capabilities: {
      extensions: [
        { uri: X402_V02, description, required: true },
        { uri: X402_V01, description, required: false },
      ],
      pushNotifications: false,
      streaming,
      stateTransitionHistory: false,
    },
    defaultInputModes: ['text'],
    defaultOutputModes: ['application/json'],
    skills: [
      discoverPlans(baseUrl),
      ...(discovery.plans.length + discovery.routes.length > 0 ? [requestAccess(config, discovery)] : []),
    ],
  }
}

function howAuthorized(discovery: DiscoveryCatalog): string {
  const schemes = schemesSold(discovery)
  const metered = 'by Permit2, which a wallet approves once'
  if (!schemes.includes('exact')) return metered
  return `by EIP-3009; the buyer pays no gas${schemes.includes('upto') ? `. Metered calls are authorized ${metered}` : ''}`
}

/** Whoever reads the card must see whether it is test money. */
function paymentText(networks: readonly Network[]): string {
  const { name, id, token, testnet } = networks[0]!
  if (networks.length > 1)
    return `Payment in ${paidIn(networks)}${testnet ? ', which are test networks' : ''}`
  return `${token.symbol} payment on ${testnet ? 'the test network ' : ''}${name} (${id})`
}

function discoverPlans(baseUrl: string) {
  return {
    id: 'discover-plans',
    name: 'Discover plans',
    description: `GET /discover lists what can be bought and its price, free of charge: ${baseUrl}/discover.`,
    tags: ['discovery', 'catalog', 'x402'],
    examples: ['What do you sell, and what does it cost?'],
  }
}

const SIGNED = {
  exact: 'the EIP-3009 authorization',
  upto: 'for a metered call the Permit2 authorization of its maximum',
} as const

function requestAccess({ baseUrl, networks }: CardConfig, discovery: DiscoveryCatalog) {
  const { plans, routes } = discovery
  const signed = schemesSold(discovery).map((scheme) => SIGNED[scheme])
  const what = [
    ...(plans.length > 0 ? ['a plan (planId) and get an access token'] : []),
    ...(routes.length > 0 ? ['a single call (routeId and resource) and get its answer'] : []),
  ].join(', or ')
  const results = [
    ...(plans.length > 0 ? ['the AccessGrant'] : []),
    ...(routes.length > 0 ? ['the ResourceResponse'] : []),
  ].join(', or for a call ')
  return {
    id: 'request-access',
    name: 'Request access',
    description: `Buy ${what}, for ${networks.length > 1 ? paidIn(networks) : 'USDC'}. The first request is answered with the terms, the second one carries the payment.${creditText(baseUrl, { plans, routes })}`,
    tags: ['payment', 'x402', 'purchase'],
    endpoint: { url: `${baseUrl}/x402/access`, method: 'POST' },
    inputSchema: inputSchema(plans.length > 0),
    workflow: [
      `GET ${baseUrl}/discover and choose.`,
      `POST ${baseUrl}/x402/access with your choice and a requestId of your own: the answer is 402 with the payment requirements.`,
      `Sign ${signed.join(', or ')} that ${chosenTerms(networks)} asks for, off-chain.`,
      `Send the same request again with header payment-signature and receive ${results}.`,
    ],
  }
}

function creditText(baseUrl: string, { plans, routes }: Pick<DiscoveryCatalog, 'plans' | 'routes'>): string {
  const some = ({ credits }: { credits?: number | undefined }) => credits !== undefined
  if (!plans.some(some) || !routes.some(some)) return ''
  return ` Plans with credits also pay for calls: send their token as Authorization: Bearer to the route; GET ${baseUrl}/x402/credits tells what is left.`
}

/** Where plans are sold they are what this skill is about; the description speaks of calls. */
function inputSchema(plans: boolean): object {
  const text = { type: 'string' } as const
  const item = { ...text, description: 'from GET /discover' }
  const requestId = { ...text, description: 'your own; the same again is never charged twice' }
  if (plans) {
    const properties = { planId: item, requestId, resourceId: { ...text, default: DEFAULT_RESOURCE_ID } }
    return { type: 'object', properties, required: ['planId'] }
  }
  const call = {
    type: 'object',
    properties: { method: text, path: text, body: {} },
    required: ['method', 'path'],
  }
  const properties = { routeId: item, resource: call, requestId }
  return { type: 'object', properties, required: ['routeId', 'resource'] }
}
