import { expect, test } from 'vitest'
import { MAINNET, TESTNET } from '../../../test/engine/test-rail.ts'
import type { RailState } from '../../engine/outcome.ts'
import { checkNetworks, checkReadiness, type Readiness, shareReadiness } from './check-readiness.ts'

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

test('with several networks it is ready while one of them can settle, and names those that are left out', async () => {
  const fine = async () => {}
  const broken = async () => {
    throw new Error('the chain cannot be reached')
  }
  const state = (network: typeof MAINNET, withdrawn: RailState['withdrawn'] = null): RailState => {
    return { id: network.id, network, scheme: 'exact', withdrawn, leastAmount: '0' }
  }
  const first = { id: MAINNET.id, chain: fine, settlement: fine }
  const second = { id: TESTNET.id, chain: broken, settlement: fine }
  const gone = { reason: 'the chain cannot be reached', since: 1_000 }
  expect(await checkNetworks(fine, [first, second], () => [state(MAINNET), state(TESTNET, gone)])).toEqual({
    ok: true,
    checks: {
      store: 'ok',
      'chain eip155:8453': 'ok',
      'settlement eip155:8453': 'ok',
      'chain eip155:84532': 'the chain cannot be reached',
      'settlement eip155:84532': 'ok',
    },
    withdrawn: [
      { network: TESTNET.id, reason: 'the chain cannot be reached', since: '1970-01-01T00:00:01.000Z' },
    ],
  })
  const dead = { ...first, settlement: broken }
  const none = await checkNetworks(fine, [dead, second], () => [state(MAINNET), state(TESTNET, gone)])
  expect(none.ok).toBe(false)
  const lost = await checkNetworks(broken, [first, second], () => [state(MAINNET), state(TESTNET)])
  expect(lost.ok).toBe(false)
})
