/** No option is nested this deeply, and recursive readers could run out of stack. */
const MAX_DEPTH = 100

/**
 * Where a text stops being JSON, as an index, or undefined if it is JSON. Node's own message often has no position,
 * and in a long line of `PLANS` the position is what a seller needs.
 */
export function jsonFaultAt(text: string): number | undefined {
  let at = 0
  let depth = 0
  const blank = /[ \t\n\r]*/y
  const scalar =
    // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these inside a string.
    /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

  function skip(pattern: RegExp): boolean {
    pattern.lastIndex = at
    if (!pattern.test(text)) return false
    at = pattern.lastIndex
    return true
  }
  const char = (expected: string): boolean => {
    skip(blank)
    if (text[at] !== expected) return false
    at++
    return true
  }
  function value(): boolean {
    if (char('[')) return members(']', value)
    if (char('{'))
      return members('}', () => skip(blank) && text[at] === '"' && skip(scalar) && char(':') && value())
    return skip(scalar)
  }
  function members(end: string, member: () => boolean): boolean {
    if (char(end)) return true
    if (++depth > MAX_DEPTH) return false
    do {
      if (!member()) return false
    } while (char(','))
    depth--
    return char(end)
  }

  const whole = value() && skip(blank) && at === text.length
  return whole ? undefined : at
}

/** An index as `line 2, column 7`, both counted from 1. */
export function placeOf(text: string, index: number): string {
  const before = text.slice(0, index).split('\n')
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`
}
