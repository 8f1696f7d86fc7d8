import type { Offer, OfferedRail } from '../../engine/outcome.ts'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import type { Spoken } from './spoken.ts'
import { chargeRequest, encodeUrl, INTENT, idOn, MAX_EXPIRY_MS, METHOD, opaqueOf } from './words.ts'

/** A challenge as JSON, for MCP. */
export interface ChallengeJson {
  id: string
  realm: string
  method: string
  intent: string
  expires: string
  request: object
  opaque: string
}

/** Until when an offer can be answered. A challenge that is paid outlives its expiry: its payer may still ask for the result. */
function expiryOf({ expiresAt }: Offer, now: number): number {
  return Math.min(expiresAt > now ? expiresAt : Number.POSITIVE_INFINITY, now + MAX_EXPIRY_MS)
}

/** MPP's charge is of a fixed amount: a metered call is not offered by it. An offer has rails of one kind only. */
const isCharge = ({ rails }: Offer): boolean => rails[0]?.scheme !== UPTO_SCHEME

/** Makes the function that writes `WWW-Authenticate`: one challenge per rail, the preferred one first. */
export function createChallengeWriter(realm: string, now: () => number) {
  /** The parts that stay the same while nothing about these rails changes: what comes before `id`, and `request`. */
  const byRails = new WeakMap<readonly OfferedRail[], string[]>()
  let last = { at: Number.NaN, text: '' }

  function requestsOf(rails: readonly OfferedRail[]): string[] {
    let known = byRails.get(rails)
    if (!known) {
      known = rails.map((rail) => encodeUrl(chargeRequest(rail)))
      byRails.set(rails, known)
    }
    return known
  }

  /** Whole seconds, because it becomes `validBefore`. All offers of a second share the text. */
  function expires(offer: Offer): string {
    const at = Math.floor(expiryOf(offer, now()) / 1000) * 1000
    if (last.at !== at) last = { at, text: new Date(at).toISOString() }
    return last.text
  }

  const plain = `Payment realm="${realm}", accept="exact", challenge="`
  const further = `, Payment realm="${realm}"`
  const fixed = `", method="${METHOD}", intent="${INTENT}", expires="`

  return {
    /**
     * The value of `WWW-Authenticate`. The parameters `accept` and `challenge` are for x402's readers; to a client of MPP
     * that accepts other methods only they would be a challenge with parts missing. Further rails are left out where they
     * would make it longer than `room`: servers and clients limit the headers of an answer.
     */
    header(offer: Offer, spoken: Spoken, room = Number.POSITIVE_INFINITY): string | undefined {
      if (!spoken.offersMpp || !isCharge(offer)) return undefined
      const first = `${plain}${offer.challengeId}"`
      const requests = requestsOf(offer.rails)
      const middle = fixed + expires(offer)
      const end = `", opaque="${opaqueOf(offer)}"${spoken.hasBearer ? ', header="Payment-Authorization"' : ''}`
      let value = first
      for (let index = 0; index < requests.length; index++) {
        const challenge = `, id="${idOn(offer, index)}${middle}", request="${requests[index]}${end}`
        if (index > 0 && value.length + further.length + challenge.length > room) break
        value += index > 0 ? further + challenge : challenge
      }
      return value
    },
    json(offer: Offer): ChallengeJson[] {
      if (!isCharge(offer)) return []
      const opaque = opaqueOf(offer)
      const until = expires(offer)
      return offer.rails.map((rail, index) => ({
        id: idOn(offer, index),
        realm,
        method: METHOD,
        intent: INTENT,
        expires: until,
        request: chargeRequest(rail),
        opaque,
      }))
    },
  }
}
