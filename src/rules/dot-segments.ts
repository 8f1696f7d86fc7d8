/** Nobody encodes so often by accident. */
const MAX_DECODINGS = 5

/** Slashes, backslashes and full stops of other scripts, as far as NFKC leaves them alone. */
const LOOKALIKES: ReadonlyArray<[RegExp, string]> = [
  [/[\u2044\u2215\u29f8]/g, '/'],
  [/[\u2216\u29f5]/g, '\\'],
  [/\u3002/g, '.'],
]

/**
 * Could a server take a segment of this path for "." or ".."? `URL` knows only "..", "%2e." and the like. Servers
 * differ: they cut path parameters off ("..;a" in Tomcat), decode twice, take a backslash for a slash, trim blanks and
 * dots, or fold full-width characters. The call that was paid would then be another one. What no decoder understands
 * the same way (overlong UTF-8, a lone "%") counts as one, too.
 */
export function hasDotSegments(pathname: string): boolean {
  if (!/[.%]/.test(pathname)) return false
  if (/%(?![0-9a-f]{2})/i.test(pathname)) return true
  let text = pathname
  for (let decodings = 0; decodings <= MAX_DECODINGS; decodings++) {
    if (fold(text).split(/[/\\]/).some(isDots)) return true
    const decoded = decode(text)
    if (decoded === undefined) return true
    if (decoded === text) return false
    text = decoded
  }
  return true
}

function fold(text: string): string {
  const plain = text.normalize('NFKC').replace(/[\s\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '')
  return LOOKALIKES.reduce((folded, [pattern, ascii]) => folded.replace(pattern, ascii), plain)
}

/** Behind ";" stand parameters; behind "?" and "#", once decoded, what is no path any more. */
const isDots = (segment: string): boolean => /^\.+(?:[;?#]|$)/.test(segment)

/** As lenient as any decoder: what is no escape stays. Undefined: bytes that are no UTF-8. */
function decode(text: string): string | undefined {
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent)
  } catch {
    return undefined
  }
}
