/** More than any honest message has; code that walks a value by recursion survives many times as much. */
export const MAX_JSON_DEPTH = 200

/**
 * Is this JSON nested deeper than that? Parsing takes any depth, but whoever writes or checks the value afterwards
 * would run out of stack. For text that is not JSON the answer means nothing.
 */
export function isNestedTooDeep(text: string): boolean {
  // So many levels need so many characters: most messages need not be looked at.
  if (text.length <= MAX_JSON_DEPTH) return false
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === BACKSLASH) index++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > MAX_JSON_DEPTH) return true
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
  }
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
