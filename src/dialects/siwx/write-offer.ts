import type { Offer, OfferedRail } from '../../engine/outcome.ts'
import type { Random } from '../../ports.ts'
import { SIGN_IN_WITH_X } from './read-proof.ts'

const NONCE_BYTES = 16

export interface SignInOffer {
  info: { domain: string; uri: string; version: '1'; nonce: string; issuedAt: string }
  supportedChains: Array<{ chainId: string; type: 'eip191' }>
  schema: object
}

export interface SignInWriter {
  /**
   * The extension's member of a 402 for a plan. Written piece by piece: all but nonce and time is the same for every 402
   * with the same rails. It names the first rail's network alone, because official clients sign for that one, and its
   * schema is empty: all of this is in a header, and comes back with every payment.
   */
  member(offer: Pick<Offer, 'kind' | 'rails'>): string | undefined
  /** The same for another endpoint, with these networks, or every one. */
  offer(path: string, networks?: readonly string[]): SignInOffer
}

export function createSignInWriter(
  place: { origin: string; accessPath: string; networks: readonly string[] },
  { now, random }: { now(): number; random: Random },
): SignInWriter {
  const host = new URL(place.origin).host
  /** By the rails of a price, which stay the same list while nothing about them changes. */
  const chainsOf = new WeakMap<readonly OfferedRail[], string>()
  const before = `"${SIGN_IN_WITH_X}":{"info":{"domain":${JSON.stringify(host)},"uri":${JSON.stringify(place.origin + place.accessPath)},"version":"1","nonce":"`
  let second = Number.NaN
  let issuedAt = ''

  /** Whole seconds: the text is made once for each. */
  function issuedNow(): string {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      issuedAt = `${new Date(current * 1000).toISOString().slice(0, 19)}Z`
    }
    return issuedAt
  }

  function newNonce(): string {
    const drawn = random.bytes(NONCE_BYTES)
    return (Buffer.isBuffer(drawn) ? drawn : Buffer.from(drawn)).toString('hex')
  }

  function afterTime(rails: readonly OfferedRail[]): string {
    const known = chainsOf.get(rails)
    if (known !== undefined) return known
    const chains = chainsOn(rails.slice(0, 1).map(({ network }) => network.id))
    const made = `"},"supportedChains":${JSON.stringify(chains)},"schema":{}}`
    chainsOf.set(rails, made)
    return made
  }

  return {
    member({ kind, rails }) {
      if (kind !== 'plan') return undefined
      return `${before}${newNonce()}","issuedAt":"${issuedNow()}${afterTime(rails)}`
    },
    offer: (path, networks = place.networks) => ({
      info: {
        domain: host,
        uri: place.origin + path,
        version: '1',
        nonce: newNonce(),
        issuedAt: issuedNow(),
      },
      supportedChains: chainsOn(networks),
      schema: {},
    }),
  }
}

function chainsOn(networks: readonly string[]): SignInOffer['supportedChains'] {
  return networks.map((chainId) => ({ chainId, type: 'eip191' }))
}
