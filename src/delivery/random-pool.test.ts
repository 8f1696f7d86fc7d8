import { expect, test } from 'vitest'
import { createRandomPool } from './random-pool.ts'

test('every byte is returned once, for any lengths, and keeps its value', () => {
  let next = 0
  const pool = createRandomPool((bytes) => {
    const words = new Uint32Array(bytes.buffer, 0, Math.floor(bytes.length / 4))
    for (let index = 0; index < words.length; index++) words[index] = next++
  })
  const given = Array.from({ length: 5000 }, () => pool.bytes(12))
  const seen = new Set(given.flatMap((bytes) => [...new Uint32Array(Uint8Array.from(bytes).buffer)]))
  expect(seen.size).toBe(15_000)
  expect(pool.bytes(10_000)).toHaveLength(10_000)
})

test('two pools return different bytes', () => {
  const text = () => Buffer.from(createRandomPool().bytes(16)).toString('hex')
  expect(new Set(Array.from({ length: 100 }, text)).size).toBe(100)
})
