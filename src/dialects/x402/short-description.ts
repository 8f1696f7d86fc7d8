/**
 * As much of a description as a header has room for, in bytes of JSON. It stands there twice, clients send both back with their
 * payment, and a character may take six bytes.
 */
const MAX_BYTES = 320
const LONGEST_CHARACTER = 6
const CUT = '...'

/** The beginning of a description, for a header; the same text where all of it fits. */
export function shortDescription(description: string): string {
  if (description.length * LONGEST_CHARACTER <= MAX_BYTES || bytesOf(description) <= MAX_BYTES)
    return description
  let room = MAX_BYTES - CUT.length
  let short = ''
  for (const character of description) {
    room -= bytesOf(character)
    if (room < 0) break
    short += character
  }
  return short + CUT
}

const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2
