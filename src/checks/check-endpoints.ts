import type { SettlementConfig } from '../config/resolved-config.ts'
import { SCHEME, X402_VERSION } from '../protocol/payment.ts'
import { createCdpAuthHeaders } from '../settlement/cdp-auth.ts'
import { createFacilitator } from '../settlement/facilitator-client.ts'
import { type CheckPlace, ofNetwork } from './check-place.ts'
import type { Check } from './run-checks.ts'

type FacilitatorConfig = Extract<SettlementConfig, { kind: 'facilitator' }>

/** Does the facilitator settle this scheme on this network? */
export function checkFacilitator({ url, auth }: FacilitatorConfig, place: CheckPlace): Check {
  const { network, labels } = place
  const name = labels.facilitatorUrl
  const asks = `the facilitator${ofNetwork(place)} at ${new URL(url).host}`
  const fix = `Set ${name} to one that settles on ${network.id}, or ${labels.gasWalletPrivateKey} to settle with your own wallet.`
  return {
    name,
    asks,
    fix,
    async run(limitMs) {
      const headers =
        auth.kind === 'cdp'
          ? createCdpAuthHeaders({ url, ...auth })
          : auth.kind === 'headers'
            ? auth.createAuthHeaders
            : undefined
      const facilitator = createFacilitator({
        url,
        network,
        timeoutMs: limitMs,
        ...(headers && { createAuthHeaders: headers }),
      })
      const kinds = await facilitator.supported()
      const fits = kinds.some(
        ({ x402Version, scheme, network: id }) =>
          x402Version === X402_VERSION && scheme === SCHEME && (id === network.id || id === 'eip155:*'),
      )
      const message = `${asks} ${fits ? 'settles' : 'does not settle'} "${SCHEME}" on ${network.id}`
      return [fits ? { name, level: 'ok', message } : { name, level: 'error', message, fix }]
    },
  }
}

/** Does anything answer? A 404 is fine: a base URL, or an endpoint that takes POST only, may answer so. */
export function checkReachable(name: string, what: string, url: string): Check {
  const asks = `${what} at ${new URL(url).host}`
  const fix = `Start it, or set ${name} to where it is, as seen from this server.`
  return {
    name,
    asks,
    fix,
    async run(limitMs) {
      const signal = AbortSignal.timeout(limitMs)
      const { status, body } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
      await body?.cancel()
      const message = `${asks} answers (HTTP ${status})`
      if (status < 500) return [{ name, level: 'ok', message }]
      return [{ name, level: 'warn', message, fix: 'It is there, but it fails: look at its log.' }]
    },
  }
}
