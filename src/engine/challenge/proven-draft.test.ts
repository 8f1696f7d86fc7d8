import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import type { Plan } from '../../protocol/catalog.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { claimPayment } from '../settle/claim-payment.ts'
import { findChallenge, type PaidIntent } from './find-challenge.ts'
import { offerTerms, openChallenge } from './open-challenge.ts'

const sells = (plan: Omit<Plan, 'planId'>) => ({
  catalog: buildCatalog([{ planId: 'basic', ...plan }]),
})

/** Pays an offer of `before` where `after` is sold; what was paid and granted, or why nothing was. */
async function payOld(before: Omit<Plan, 'planId'>, after: Omit<Plan, 'planId'>, requestId?: string) {
  const first = testCore({ config: sells(before) })
  const asked = { transport: 'http', planId: 'basic', ...(requestId && { requestId }) } as const
  const offered = offerTerms(first.core, asked) ?? (await openChallenge(first.core, asked))
  if (offered.kind !== 'challenge') throw new Error('no offer')
  const { offer } = offered
  const { core, rail, store } = testCore({ store: first.store, config: sells(after) })
  const { challengeId } = offer
  const echo = { planId: 'basic', challengeId, requestId: offer.requestId }
  const payment = testPayment({ echo, echoedAmount: offer.rails[0]!.amount })
  const intent = { ...asked, payment } as PaidIntent
  const found = await findChallenge(core, intent, false)
  if (found.kind !== 'open') return found.kind === 'failed' ? found.error.code : found.kind
  await claimPayment(core, rail, found, { signed: payment.signed, byKey: true }, intent)
  const [row] = await store.get('challenges', [challengeId])
  return { paid: row!.amount, granted: row!.credits }
}

const SMALL = { unitAmount: '$1.00', credits: 100 }
const LARGE = { unitAmount: '$10.00', credits: 1000 }

test.each([
  ['cheaper and smaller', SMALL, LARGE],
  ['dearer and larger', LARGE, SMALL],
  ['without credits', { unitAmount: '$1.00' }, LARGE],
  ['with credits that the plan has no more', SMALL, { unitAmount: '$10.00' }],
])(
  'an offer %s than the plan is now is not taken for another: it must be asked for again',
  async (_, before, after) => {
    expect(await payOld(before, after)).toBe('CHALLENGE_NOT_FOUND')
  },
)

test('a stored offer grants what was offered with its price', async () => {
  expect(await payOld(SMALL, LARGE, 'r-1')).toEqual({ paid: '1000000', granted: 100 })
  expect(await payOld(LARGE, SMALL, 'r-1')).toEqual({ paid: '10000000', granted: 1000 })
  expect(await payOld({ unitAmount: '$1.00' }, LARGE, 'r-1')).toEqual({ paid: '1000000', granted: 0 })
})

test('an old price with the same credits is honoured, and so is an offer that names none at the price of now', async () => {
  expect(await payOld(SMALL, { ...SMALL, unitAmount: '$2.00' })).toEqual({ paid: '1000000', granted: 100 })
  expect(await payOld({ unitAmount: '$1.00' }, SMALL)).toEqual({ paid: '1000000', granted: 100 })
})

test('an offer that got its requestId from us is found by its id alone, and takes the name that its payment brings', async () => {
  const asked = { transport: 'http', planId: 'basic' } as const
  const { core, rail, store } = testCore({ config: sells(SMALL) })
  const offered = offerTerms(core, asked)
  if (offered?.kind !== 'challenge') throw new Error('no offer')
  const { challengeId, requestId } = offered.offer
  const find = (echo: object, named: object = {}) =>
    findChallenge(core, { ...asked, payment: testPayment({ echo, ...named }) }, false)
  for (const echo of [{ challengeId }, { challengeId, requestId }]) {
    expect(await find(echo)).toMatchObject({ kind: 'open', challenge: { key: challengeId, requestId } })
  }
  const named = await find({ challengeId, requestId }, { paymentId: 'call-1' })
  expect(named).toMatchObject({ challenge: { requestId: 'call-1', offeredRequestId: requestId } })
  if (named.kind !== 'open') throw new Error('not open')
  const payment = testPayment({ echo: { challengeId, requestId }, paymentId: 'call-1' })
  await claimPayment(core, rail, named, { signed: payment.signed, byKey: true }, { ...asked, payment })
  const [pointer] = await store.get('requests', ['call-1'])
  expect(pointer).toMatchObject({ challengeId })
})
