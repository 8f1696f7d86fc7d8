import type { PaymentRequired, RequirementsExtra } from '../../protocol/payment.ts'

/** ASCII that needs no escape in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/
const ASCII = /^[\0-\x7f]*$/
/** Stands for what differs between two offers of one thing; no JSON of ours has it. */
const HOLE = '\u0001'
const MAX_TEMPLATES = 1000

interface Template {
  like: PaymentRequired
  pieces: readonly string[]
  isAscii: boolean
}

export interface ChallengeJson {
  /** All but the last brace: more may follow. */
  open: string
  /** As many bytes as characters. False: perhaps. */
  isAscii: boolean
}

/**
 * Writes an offer as JSON does. Two offers of one thing differ in their ids, salt and path only, so the rest is written
 * once and kept: a 402 is what strangers ask for most.
 */
export function createChallengeJson(): (required: PaymentRequired) => ChallengeJson {
  const templates = new Map<string, Template>()
  return (required) => {
    const { challengeId, requestId, accepts, resource } = required
    const { planId, routeId, salt } = accepts[0]?.extra ?? {}
    const itemId = planId ?? routeId
    if (itemId === undefined || salt === undefined) return written(required)
    let template = templates.get(itemId)
    if (!template || !isAlike(template.like, required)) {
      if (templates.size >= MAX_TEMPLATES) templates.clear()
      const pieces = piecesOf(required)
      template = { like: required, pieces, isAscii: ASCII.test(pieces.join('')) }
      templates.set(itemId, template)
    }
    const { url } = resource
    if (!PLAIN.test(url + requestId + salt + challengeId)) return written(required)
    const [head, afterUrl, afterId, afterRequest, afterSalt, between, tail] = template.pieces
    const open = `${head}${url}${afterUrl}${challengeId}${afterId}${requestId}${afterRequest}${salt}${afterSalt}${challengeId}${between}${requestId}${tail}`
    return { open, isAscii: template.isAscii }
  }
}

const written = (required: PaymentRequired): ChallengeJson => ({
  open: openJson(required),
  isAscii: false,
})

/** The text around the six holes: the path, the ids twice, the salt once. */
function piecesOf(required: PaymentRequired): string[] {
  const [terms, ...others] = required.accepts
  const extra: RequirementsExtra = {
    ...terms!.extra,
    challengeId: HOLE,
    requestId: HOLE,
    salt: HOLE,
  }
  const holed = {
    ...required,
    resource: { ...required.resource, url: HOLE },
    accepts: [{ ...terms, extra }, ...others],
    challengeId: HOLE,
    requestId: HOLE,
  }
  return openJson(holed).split(JSON.stringify(HOLE).slice(1, -1))
}

const openJson = (value: object): string => JSON.stringify(value).slice(0, -1)

/** Do they differ in nothing but the holes? The catalog's own texts are compared by reference, nearly always. */
function isAlike(one: PaymentRequired, other: PaymentRequired): boolean {
  const [a, b] = [one.accepts[0]!, other.accepts[0]!]
  return (
    one.error === other.error &&
    one.resource.method === other.resource.method &&
    one.resource.description === other.resource.description &&
    a.amount === b.amount &&
    a.payTo === b.payTo &&
    a.asset === b.asset &&
    a.network === b.network &&
    a.extra.planId === b.extra.planId &&
    a.extra.routeId === b.extra.routeId &&
    a.extra.resourceId === b.extra.resourceId &&
    a.extra.description === b.extra.description
  )
}
