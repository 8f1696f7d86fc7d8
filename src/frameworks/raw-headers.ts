/**
 * Of a name in lower case, all that came, as one list. Looks at what the client sent: node's own `headers` drops some
 * duplicates silently, and two payments in one request must not pass for one.
 */
export function headerIn(rawHeaders: readonly string[], name: string): string | null {
  let found: string | null = null
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]!
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    const value = rawHeaders[index + 1]!
    found = found === null ? value : `${found}, ${value}`
  }
  return found
}

/** All of them, as Fetch wants them; one that came twice is a list here too. */
export function headersFrom(rawHeaders: readonly string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    // HTTP/2 has `:path` and the like among them.
    if (!rawHeaders[index]!.startsWith(':')) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  return headers
}

/** The same without making Headers. Names are in lower case. */
export function recordFrom(rawHeaders: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {}
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    const value = rawHeaders[index + 1]!
    if (name.startsWith(':')) continue
    // Not `record[name]` alone: a header may be called `constructor`.
    const before = Object.hasOwn(record, name) ? record[name] : undefined
    record[name] = before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return record
}
