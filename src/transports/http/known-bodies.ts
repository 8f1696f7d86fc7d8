const MAX_BYTES = 200
const MAX_KNOWN = 100

/**
 * Wraps the decoder of a body so that small ones, once decoded, are known by their bytes: most buyers of one thing send
 * the same few words. Saves 3 µs of the 18 that the handler takes for a 402. What is remembered is given to everybody who
 * sends those bytes, so the decoder must freeze it.
 *
 * @param isReusable says whether what was decoded may come again: bodies that name one purchase would only fill the memory
 */
export function rememberSmallBodies<T extends object>(
  decode: (bytes: Uint8Array) => T,
  isReusable: (decoded: T) => boolean,
): (bytes: Uint8Array) => T {
  const known = new Map<string, T>()
  return (bytes) => {
    if (bytes.byteLength > MAX_BYTES) return decode(bytes)
    const key = latin1Of(bytes)
    const before = known.get(key)
    if (before) return before
    const decoded = decode(bytes)
    if (isReusable(decoded)) {
      if (known.size >= MAX_KNOWN) known.clear()
      known.set(key, decoded)
    }
    return decoded
  }
}

/** One character per byte: different bytes are different keys, whether or not they are UTF-8. */
function latin1Of(bytes: Uint8Array): string {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('latin1')
}
