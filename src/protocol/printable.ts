/** Control characters except line break and tab, and the marks that change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Makes text safe for a terminal or a log. Text from strangers may contain escape sequences that move the cursor,
 * rename the window or hide a line, so every control character is made visible. JSON stays the same JSON.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (found) => (found === '\n' || found === '\t' ? found : escaped(found)))
}

/** The same for a text that must stay on its line. */
export function printableLine(text: string): string {
  return text.replace(UNPRINTABLE, escaped)
}
