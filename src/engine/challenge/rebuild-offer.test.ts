import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { SELLER, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER } from '../../../test/engine/test-rows.ts'
import type { Address } from '../../protocol/hex.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId } from '../../rules/challenge-id.ts'
import { termsOf } from '../../rules/terms.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEngine } from '../engine.ts'
import { rememberOffers } from './remember-offers.ts'

const txHash = `0x${'7a'.repeat(32)}` as const
const OTHER_SELLER = `0x${'77'.repeat(20)}` as const
const OFFERED_AT = 300_000
const TTL = 900_000

interface Change {
  ttlMs?: number
  payTo?: Address
  paidAt?: number
  changedAt?: number
}

/** A transfer for an offer of 300 s, proven at 5,000 s: the record of the offer is gone. */
async function proveLate({ ttlMs = TTL, payTo = SELLER, paidAt = 400, changedAt = 600_000 }: Change = {}) {
  const block = { number: 9, hash: '0xb9', timestamp: paidAt } as const
  const transfers = [{ from: PAYER, to: SELLER, value: '1000000', logIndex: 0 }]
  const rail = testRail({
    payTo,
    settlement: { unavailable: async () => undefined },
    chain: { head: async () => ({ latest: block, finalized: block }) },
    hasSigned: async () => true,
    transfers: async () => ({ at: block, found: { txHash, sender: PAYER, block, transfers } }),
  })
  const { ports, config } = testPorts({ clock: createFakeClock(5_000_000), rails: [rail] })
  await rememberOffers(ports.store, { ttlMs: TTL, rails: [testRail()], now: 0 })
  const formerOffers = await rememberOffers(ports.store, { ttlMs, rails: [rail], now: changedAt })
  const engine = createEngine(ports, { ...config, challengeTtlMs: ttlMs, formerOffers })
  const terms = termsOf({ kind: 'plan', planId: 'basic', resourceId: 'default' }, '1000000', 'r-1', 0)
  const random = new Uint8Array(CHALLENGE_RANDOM_BYTES)
  const challengeId = makeChallengeId(config.idKeys[0]!, 'a2a', OFFERED_AT + TTL, random, terms)
  const prove = () =>
    engine.purchase({
      ...{ transport: 'a2a', challengeId, planId: 'basic', requestId: 'r-1' },
      proof: { txHash, signature: '0x51' },
    })
  return { answers: [await prove(), await prove()], refunds: await ports.store.list('refunds', challengeId) }
}

const REFUNDED = [{ error: { code: 'DELIVERY_FAILED' } }, { error: { code: 'CHALLENGE_REFUNDED' } }]
const WAITING = [{ phase: 'WAITING', value: '1000000', recipient: PAYER }]

test.each([
  ['nothing changed', {}],
  ['offers became valid for a shorter time', { ttlMs: 300_000 }],
  ['offers became valid for a longer time', { ttlMs: 3_600_000 }],
  ['the wallet was replaced', { payTo: OTHER_SELLER }],
])('a transfer that is proven after the record was deleted goes back: %s', async (_, change) => {
  expect(await proveLate(change)).toMatchObject({ answers: REFUNDED, refunds: WAITING })
})

test('a transfer from before the offer was for something else, whatever was changed since', async () => {
  const refused = { error: { code: 'INVALID_PROOF', message: expect.stringContaining('older') } }
  const none = { answers: [refused, refused], refunds: [] }
  expect(await proveLate({ paidAt: 299 })).toMatchObject(none)
  expect(await proveLate({ paidAt: 299, ttlMs: 300_000 })).toMatchObject(none)
  // An offer that expires after the last one of the former lifetime was made for the shorter one.
  expect(await proveLate({ paidAt: 800, ttlMs: 300_000, changedAt: 299_000 })).toMatchObject(none)
})

test('a transfer to a wallet that was replaced before the offer is not paid back, and its sender is told whom to ask', async () => {
  const { answers, refunds } = await proveLate({ payTo: OTHER_SELLER, changedAt: 299_000 })
  const hint = expect.stringContaining('ask the seller for it back')
  expect(answers[0]).toMatchObject({ error: { code: 'CHALLENGE_NOT_FOUND', details: { hint } } })
  expect(refunds).toEqual([])
})
