/** Nobody encodes a path more often than this by accident. */
const MAX_DECODINGS = 5

/** Characters that look like slashes, backslashes and full stops and are not changed by NFKC. */
const LOOKALIKES: ReadonlyArray<[RegExp, string]> = [
  [/[\u2044\u2215\u29f8]/g, '/'],
  [/[\u2216\u29f5]/g, '\\'],
  [/\u3002/g, '.'],
]

/**
 * Could a server read a segment of this path as "." or ".."? `URL` knows only "..", "%2e." and the like. Servers
 * differ: they cut path parameters off ("..;a" in Tomcat), decode twice, treat a backslash as a slash, trim blanks
 * and dots, or fold full-width characters. The backend would then get another call than the one that was paid. What
 * decoders disagree on (overlong UTF-8, a lone "%") counts as well.
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

/** Parameters follow ";". After decoding, what follows "?" or "#" is no longer part of the path. */
const isDots = (segment: string): boolean => /^\.+(?:[;?#]|$)/.test(segment)

/** As lenient as any decoder: what is not an escape stays. Undefined: the bytes are not UTF-8. */
function decode(text: string): string | undefined {
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent)
  } catch {
    return undefined
  }
}
