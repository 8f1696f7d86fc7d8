import { expect, test } from 'vitest'
import { rawHeaders } from './response-headers.ts'

test('a raw answer keeps nothing that its backend says to caches, not even to one that overrules cache-control', () => {
  const said = Object.fromEntries(
    [
      ...['cache-control', 'pragma', 'expires', 'age', 'cdn-cache-control', 'cloudflare-cdn-cache-control'],
      ...['vercel-cdn-cache-control', 'surrogate-control', 'x-accel-expires', 'edge-control'],
    ].map((name) => [name, 'max-age=600']),
  )
  const kept = { 'content-type': 'text/plain', etag: '"1"', 'surrogate-key': 'weather' }
  expect(Object.fromEntries(rawHeaders({ ...said, ...kept }, (location) => location))).toEqual(kept)
})
