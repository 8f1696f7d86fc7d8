import { expect, test } from 'vitest'
import { createAlertBook } from './alert-book.ts'
import type { AlertMessage } from './alert-webhook.ts'

function open() {
  const told: AlertMessage[] = []
  const counted: string[] = []
  let nowMs = 1_000_000
  const book = createAlertBook({
    now: () => nowMs,
    clean: (text) => text.replace('pw', '*'),
    count: (kind) => void counted.push(kind),
    tell: (alert) => void told.push(alert),
  })
  return { book, told, counted, pass: (ms: number) => (nowMs += ms) }
}

test('the same alert is sent once a minute, with the total count', () => {
  const { book, told, counted, pass } = open()
  for (let turn = 0; turn < 100; turn++) {
    book.raise('job-failed', 'refunds: pw')
    pass(1000)
  }
  expect(told.map(({ message, count }) => [message, count])).toEqual([
    ['refunds: *', 1],
    ['refunds: *', 61],
  ])
  expect(counted).toHaveLength(100)
  expect(book.list()).toMatchObject([{ kind: 'job-failed', count: 100 }])
})

test('different alerts are sent at once, the newest is listed first, and the number kept is bounded', () => {
  const { book, told } = open()
  for (let turn = 0; turn < 500; turn++) book.raise('delivery-failed', `challenge ${turn}`)
  expect(told).toHaveLength(500)
  expect(book.list()).toHaveLength(200)
  expect(book.list()[0]).toMatchObject({ message: 'challenge 499', at: new Date(1_000_000).toISOString() })
  book.clear()
  expect(book.list()).toEqual([])
})
