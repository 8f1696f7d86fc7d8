/** Each number that a double does not hold has 16 digits or more, or an exponent. */
const SUSPECT = /[\d.]{16}|\d[eE][+-]?\d/

/** A longer number is hardly one that was computed with. */
const MAX_DIGITS = 400

/**
 * The first number in this JSON that does not survive being parsed and written again, such as 9007199254740993 or 1e400;
 * undefined: all of them do. For text that is not JSON the answer means nothing.
 */
export function inexactNumber(text: string): string | undefined {
  // Most texts have nothing of the kind, and this look costs a fraction of parsing them.
  if (!SUSPECT.test(text)) return undefined
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code >= ZERO && code <= NINE) {
      const end = endOfNumber(text, index)
      const number = text.slice(index, end)
      if (!isExact(number)) return text[index - 1] === '-' ? `-${number}` : number
      index = end - 1
    }
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let index = start + 1
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === BACKSLASH) index++
    else if (code === QUOTE) break
  }
  return index
}

function endOfNumber(text: string, start: number): number {
  const rest = /[^\d.eE+-]|$/g
  rest.lastIndex = start
  return rest.exec(text)!.index
}

function isExact(number: string): boolean {
  const value = Number(number)
  if (String(value) === number) return true
  return (
    number.length <= MAX_DIGITS && Number.isFinite(value) && decimalOf(number) === decimalOf(String(value))
  )
}

/** One spelling for all that denote the same number: 1.10, 1.1 and 11e-1. */
function decimalOf(number: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const ZERO = 0x30
const NINE = 0x39
