import { expect, test } from 'vitest'
import { lastSeq } from '../../rules/last-seq.ts'
import { followLog, type LogEntry } from './follow-log.ts'

function log(seqs: number[], at = 0) {
  const entries: LogEntry[] = []
  const add = (seq: number, when = at, details?: LogEntry['details']) => {
    const entry: LogEntry = {
      ...{ seq, at: when, challengeId: `c${seq}`, requestId: 'r', event: 'paid' },
      ...{ fromState: 'PENDING', toState: 'PAID', actor: 'gateway' },
      ...(details && { details }),
    }
    entries.push(entry)
    entries.sort((a, b) => a.seq - b.seq)
  }
  for (const seq of seqs) add(seq)
  const reads: number[] = []
  const store = {
    log: async (afterSeq: number, limit: number) => {
      reads.push(afterSeq)
      return entries.filter(({ seq }) => seq > afterSeq).slice(0, limit)
    },
  }
  return { add, store, reads }
}

const seqsOf = ({ entries }: { entries: LogEntry[] }) => entries.map(({ seq }) => seq)

test('every entry is returned once, also one that appears late', async () => {
  const { add, store, reads } = log([1, 2], 1_000_000)
  let nowMs = 1_000_000
  const follower = followLog(store, () => nowMs)
  expect(seqsOf(await follower.next())).toEqual([1, 2])
  add(4)
  add(6)
  expect(seqsOf(await follower.next())).toEqual([4, 6])
  expect(seqsOf(await follower.next())).toEqual([])
  add(3)
  expect(seqsOf(await follower.next())).toEqual([3])
  expect(reads.at(-1), 'read again from the gap').toBe(2)
  add(5)
  expect(seqsOf(await follower.next())).toEqual([5])
  expect(seqsOf(await follower.next())).toEqual([])
  expect(reads.at(-1), 'no gap is left').toBe(6)
  // The seq of a rolled-back transaction never appears; after a while it is no longer waited for.
  add(8)
  await follower.next()
  nowMs += 11_000
  await follower.next()
  await follower.next()
  expect(reads.at(-1)).toBe(8)
})

test('the age of an entry counts from when it was written, not from the event it reports: a gap before it may still be filled', async () => {
  const nowMs = 1_000_000_000
  const { add, store } = log([1], nowMs)
  const follower = followLog(store, () => nowMs)
  await follower.next()
  add(3, nowMs - 900_000, { loggedAt: nowMs })
  expect(seqsOf(await follower.next())).toEqual([3])
  add(2, nowMs)
  expect(seqsOf(await follower.next())).toEqual([2])
})

test('an entry of an instance whose clock is ten minutes behind is as new as any: a gap before it may still be filled', async () => {
  const nowMs = 1_000_000_000
  const { add, store } = log([1], nowMs)
  const follower = followLog(store, () => nowMs)
  await follower.next()
  add(3, nowMs - 600_000)
  expect(seqsOf(await follower.next())).toEqual([3])
  add(2, nowMs)
  expect(seqsOf(await follower.next())).toEqual([2])
})

test('a long history with gaps is read once, page by page', async () => {
  const seqs = Array.from({ length: 2500 }, (_, index) => index * 2 + 1)
  const { store, reads } = log(seqs)
  const follower = followLog(store, () => 1_000_000_000)
  const read: number[] = []
  for (let more = true; more; ) {
    const page = await follower.next()
    read.push(...seqsOf(page))
    more = page.more
  }
  expect(read).toEqual(seqs)
  expect(reads).toHaveLength(6)
  expect(follower.position()).toBe(4999)
  expect(await lastSeq(store)).toBe(4999)
})
