// A quote that nobody closes lasts to the end: looking for its end again from every later quote would take hours.
const QUOTED = /"(?:\\.|[^"\\])*(?:"|\\?$)/g
const PAYMENT = /(?:^|,)\s*payment(?:\s|$)/i

/**
 * Does this `Authorization` hold an MPP credential? It shares the header with bearer tokens, so the scheme decides. A header
 * that was sent twice arrives as one list, and the credential may be anywhere in it.
 */
export function hasPaymentScheme(authorization: string): boolean {
  return PAYMENT.test(authorization) && PAYMENT.test(authorization.replace(QUOTED, ''))
}
