import type { Offer, OfferedRail } from '../../engine/outcome.ts'
import { resourceUrl } from '../../rules/resource-url.ts'
import { paymentRequired } from './render-offer.ts'

/** ASCII that needs no escape in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/
const ASCII = /^[\0-\x7f]*$/

/**
 * The parts that differ between two offers of one item, each with a character that marks its place in a template. The
 * seller's description may contain any character, so it is replaced by a mark too while the template is made.
 */
const MARKS = {
  url: '\u0001',
  challengeId: '\u0002',
  requestId: '\u0003',
  resourceId: '\u0004',
  salt: '\u0005',
  description: '\u0006',
} as const
/** The marks as JSON writes them. */
const WRITTEN_MARK = /\\u000([1-6])/

interface Template {
  description: string
  method: string | undefined
  /** Text, number of a part, text, number of a part, …, text. */
  pieces: ReadonlyArray<string | number>
  isAscii: boolean
}

export interface OfferJson {
  /** Everything but the last brace, so that more fields can follow. */
  open: string
  /** It has as many bytes as characters. False: perhaps not. */
  isAscii: boolean
}

/**
 * Writes {@link paymentRequired} as JSON, with the same result as JSON.stringify. Two offers of one item differ only
 * in their ids, salt and path, so the rest is written once per item and price. Saves 7 µs of the 22 that handler and
 * engine take for a 402.
 */
export function createOfferJson(baseUrl: string, message: string): (offer: Offer) => OfferJson {
  /** By the rails of a price, which stay the same list while nothing about them changes, and by item. */
  const byRails = new WeakMap<readonly OfferedRail[], Map<string, Template>>()

  function templateOf(offer: Offer): Template {
    let templates = byRails.get(offer.rails)
    if (!templates) {
      templates = new Map()
      byRails.set(offer.rails, templates)
    }
    const item = `${offer.kind}:${offer.itemId}`
    const known = templates.get(item)
    if (known && known.description === offer.description && known.method === offer.resource?.method)
      return known
    const made = makeTemplate(offer, baseUrl)
    templates.set(item, made)
    return made
  }

  return (offer) => {
    const { challengeId, requestId, resourceId, salt } = offer
    const url = resourceUrl(baseUrl, offer)
    const plain = PLAIN.test(url + challengeId + requestId + resourceId + salt)
    if (!plain || offer.message !== message) {
      return { open: openJson(paymentRequired(offer, baseUrl)), isAscii: false }
    }
    const { pieces, isAscii } = templateOf(offer)
    const values = [url, challengeId, requestId, resourceId, salt]
    let open = ''
    for (const piece of pieces) open += typeof piece === 'string' ? piece : values[piece]
    return { open, isAscii }
  }
}

function makeTemplate(offer: Offer, baseUrl: string): Template {
  const marked = openJson(paymentRequired({ ...offer, ...MARKS }, baseUrl))
  const description = JSON.stringify(offer.description).slice(1, -1)
  const pieces: Array<string | number> = []
  let text = ''
  for (const [index, piece] of marked.split(WRITTEN_MARK).entries()) {
    if (index % 2 === 0) text += piece
    else if (piece === '6') text += description
    else {
      pieces.push(text, Number(piece) - 1)
      text = ''
    }
  }
  pieces.push(text)
  return {
    description: offer.description,
    method: offer.resource?.method,
    pieces,
    isAscii: ASCII.test(pieces.join('')),
  }
}

const openJson = (value: object): string => JSON.stringify(value).slice(0, -1)
