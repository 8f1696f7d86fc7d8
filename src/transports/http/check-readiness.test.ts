import { expect, test } from 'vitest'
import { checkReadiness, type Readiness, shareReadiness } from './check-readiness.ts'

function asked() {
  let nowMs = 0
  let checks = 0
  let answer: () => Promise<Readiness> = async () => ({ ok: true, checks: {} })
  const ready = shareReadiness(
    () => {
      checks++
      return answer()
    },
    () => nowMs,
  )
  return {
    ready,
    checks: () => checks,
    answers(next: () => Promise<Readiness>) {
      answer = next
    },
    at(ms: number) {
      nowMs = ms
    },
  }
}

test('every check is named with its result', async () => {
  const broken = async () => {
    throw new Error('the store is away')
  }
  const readiness = await checkReadiness({ store: broken, chain: async () => {} })
  expect(readiness).toEqual({ ok: false, checks: { store: 'the store is away', chain: 'ok' } })
})

test('those who ask together, and within three seconds, share one check', async () => {
  const { ready, checks, at } = asked()
  await Promise.all(Array.from({ length: 100 }, ready))
  at(2_999)
  await ready()
  expect(checks()).toBe(1)
  at(3_000)
  await ready()
  expect(checks()).toBe(2)
})

test('a recovery shows after a second', async () => {
  const { ready, checks, at, answers } = asked()
  answers(async () => ({ ok: false, checks: {} }))
  expect(await ready()).toMatchObject({ ok: false })
  answers(async () => ({ ok: true, checks: {} }))
  at(999)
  expect(await ready()).toMatchObject({ ok: false })
  at(1_000)
  expect(await ready()).toMatchObject({ ok: true })
  expect(checks()).toBe(2)
})

test('neither a check that throws nor a clock that steps back keeps an old answer', async () => {
  const { ready, checks, at, answers } = asked()
  answers(() => Promise.reject(new Error('unexpected')))
  await expect(ready()).rejects.toThrow('unexpected')
  answers(async () => ({ ok: true, checks: {} }))
  at(60_000)
  expect(await ready()).toMatchObject({ ok: true })
  at(0)
  await ready()
  expect(checks()).toBe(3)
})
