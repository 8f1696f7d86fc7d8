import type { DiscoveryCatalog, RefundTerms, SoldOnNetwork } from '../protocol/catalog.ts'
import { meteredRefunds, NEVER_CHARGED, schemesSold } from '../protocol/schemes-sold.ts'
import type { NetworkConfig, ResolvedConfig } from './resolved-config.ts'

/** The part of the configuration that buyers may see: `GET /discover`. */
export function discoveryOf(config: ResolvedConfig): DiscoveryCatalog {
  const [{ network, walletAddress }] = config.networks
  return {
    agentName: config.agentName,
    description: config.agentDescription,
    walletAddress,
    network: network.id,
    chainId: network.chainId,
    asset: network.token.address,
    ...(config.networks.length > 1 && { networks: config.networks.map(describeNetwork) }),
    plans: config.plans.map(({ planId, unitAmount, credits, description }) => ({
      planId,
      unitAmount,
      ...(credits !== undefined && { credits }),
      ...(description && { description }),
    })),
    routes: config.routes.map(
      ({ routeId, method, path, unitAmount, maxAmount, scheme, free, raw, credits, description }) => ({
        routeId,
        method,
        path,
        ...(typeof unitAmount === 'string' && { unitAmount }),
        ...(maxAmount !== undefined && { maxAmount }),
        ...(scheme !== undefined && { scheme }),
        ...(free && { free }),
        ...(raw && { raw }),
        ...(credits !== undefined && { credits }),
        ...(description && { description }),
      }),
    ),
    refunds: refundsOf(config),
  }
}

/** Only what is paid before it is delivered can be refunded. */
function refundsOf(config: ResolvedConfig): RefundTerms {
  const terms = refundTerms(config)
  const schemes = schemesSold(config)
  if (!schemes.includes('upto')) return terms
  if (!schemes.includes('exact')) return meteredRefunds(terms)
  return { ...terms, description: `${terms.description} ${NEVER_CHARGED}` }
}

/** What a gateway with these keys does about a payment that led to nothing. */
function refundTerms({ networks, baseUrl, refundMinAgeSeconds }: ResolvedConfig): RefundTerms {
  const statusUrl = `${baseUrl}/x402/challenges/{challengeId}`
  const signed = networks.filter(({ refundWalletPrivateKey }) => refundWalletPrivateKey !== null)
  if (signed.length === 0) {
    return {
      policy: 'manual',
      description: 'What is paid and not delivered is owed back in full; the seller refunds it by hand.',
      statusUrl,
    }
  }
  const isEverywhere = signed.length === networks.length
  const automaticOn = signed.map(({ network }) => network.id)
  const where = isEverywhere ? '' : ` on ${automaticOn.join(', ')} (elsewhere by the seller's hand)`
  return {
    policy: 'automatic',
    description: `What is paid and not delivered is refunded in full, on chain and automatically${where}, once the payment is final: a plan as soon as its delivery has failed, a call ${refundMinAgeSeconds} s after the payment unless the same payment, sent again, is delivered first.`,
    ...(!isEverywhere && { automaticOn }),
    callsAfterSeconds: refundMinAgeSeconds,
    statusUrl,
  }
}

function describeNetwork({ network, walletAddress }: NetworkConfig): SoldOnNetwork {
  const { id, name, chainId, token } = network
  return { network: id, name, chainId, asset: token.address, walletAddress }
}
