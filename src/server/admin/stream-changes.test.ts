import { afterEach, expect, test, vi } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { createSalesBook } from './sales-book.ts'
import { streamChanges } from './stream-changes.ts'

afterEach(() => void vi.useRealTimers())

test('a stream with a life ends by itself, so that a server which knows nothing of it can close', async () => {
  vi.useFakeTimers()
  const book = createSalesBook(createMemoryStore())
  const stream = streamChanges(book, new AbortController().signal, 10_000)
  const text = stream.text()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await text).toBe('retry: 500\n\n')
  book.close()
})

test('without one it lasts until it is told to end', async () => {
  vi.useFakeTimers()
  const book = createSalesBook(createMemoryStore())
  const closing = new AbortController()
  const text = streamChanges(book, closing.signal).text()
  await vi.advanceTimersByTimeAsync(60_000)
  closing.abort()
  expect(await text).toMatch(/^: connected\n\n(event: ping\ndata: {}\n\n){3}$/)
  book.close()
})
