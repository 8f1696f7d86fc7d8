/** What an answer that belongs to one buyer says to caches: a shared one would hand it to the next. */
export const OF_ONE_BUYER = 'no-store, private'

/** Headers that caches follow; some follow one of their own before `cache-control`. */
const CACHING = /^((.*-)?cache-control|pragma|expires|age|surrogate-control|x-accel-expires|edge-control)$/i

export const isCaching = (name: string): boolean => CACHING.test(name)

/** Makes it an answer of one buyer, whatever it said to caches before. */
export function keepFromCaches(headers: Headers): void {
  for (const name of [...headers.keys()]) if (isCaching(name)) headers.delete(name)
  headers.set('cache-control', OF_ONE_BUYER)
}
