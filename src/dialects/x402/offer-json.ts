import type { Offer, OfferedRail } from '../../engine/outcome.ts'
import { resourceUrl } from '../../rules/resource-url.ts'
import { paymentRequired } from './render-offer.ts'
import { shortDescription } from './short-description.ts'

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
  whole: Pieces
  /** Absent: the same. */
  short?: Pieces
}

interface Pieces {
  /** Text, number of a part, text, number of a part, …, text. */
  pieces: ReadonlyArray<string | number>
  isAscii: boolean
}

interface WrittenOffer {
  /** Everything but the last brace, so that more fields can follow. */
  open: string
  /** It has as many bytes as characters. False: perhaps not. */
  isAscii: boolean
}

export interface OfferJson extends WrittenOffer {
  /** The same with as much of the description as fits into a header. Absent: the same. */
  inHeader?: WrittenOffer | undefined
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
      const written = (one: Offer) => ({ open: openJson(paymentRequired(one, baseUrl)), isAscii: false })
      const description = shortDescription(offer.description)
      const inHeader = description === offer.description ? undefined : written({ ...offer, description })
      return { ...written(offer), inHeader }
    }
    const { whole, short } = templateOf(offer)
    const values = [url, challengeId, requestId, resourceId, salt]
    return {
      open: filled(whole, values),
      isAscii: whole.isAscii,
      inHeader: short && { open: filled(short, values), isAscii: short.isAscii },
    }
  }
}

function filled({ pieces }: Pieces, values: readonly string[]): string {
  let text = ''
  for (const piece of pieces) text += typeof piece === 'string' ? piece : values[piece]
  return text
}

function makeTemplate(offer: Offer, baseUrl: string): Template {
  const { description } = offer
  const marked = openJson(paymentRequired({ ...offer, ...MARKS }, baseUrl))
  const short = shortDescription(description)
  return {
    description,
    method: offer.resource?.method,
    whole: piecesOf(marked, description),
    ...(short !== description && { short: piecesOf(marked, short) }),
  }
}

function piecesOf(marked: string, description: string): Pieces {
  const written = JSON.stringify(description).slice(1, -1)
  const pieces: Array<string | number> = []
  let text = ''
  for (const [index, piece] of marked.split(WRITTEN_MARK).entries()) {
    if (index % 2 === 0) text += piece
    else if (piece === '6') text += written
    else {
      pieces.push(text, Number(piece) - 1)
      text = ''
    }
  }
  pieces.push(text)
  return { pieces, isAscii: ASCII.test(pieces.join('')) }
}

const openJson = (value: object): string => JSON.stringify(value).slice(0, -1)
