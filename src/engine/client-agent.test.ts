import { expect, test } from 'vitest'
import { testCore, testPorts } from '../../test/engine/test-core.ts'
import { testPayment } from '../../test/engine/test-payment.ts'
import { testRail } from '../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../test/engine/test-rows.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createEngine } from './engine.ts'
import { broadcast } from './settle/broadcast.ts'
import { claimPayment } from './settle/claim-payment.ts'
import { recordReceipt } from './settle/confirm.ts'

const BLOCK = { number: 7, hash: '0x7', timestamp: 9000 } as const
const TRACKER = { watch: () => {}, refused: async () => {}, noteSent: () => {}, progress: () => undefined }

/** A core that can send payments, and one stored challenge. */
async function setUp(clientAgentId: string | null) {
  const { core, rail, store } = testCore({
    clock: createFakeClock(9_000_000),
    rails: [
      testRail({
        chain: { head: async () => ({ latest: BLOCK, finalized: BLOCK }) },
        scheme: { simulate: async () => ({ at: BLOCK, results: [{ kind: 'ok', alone: false }] }) },
        settlement: {
          makeBatches: async (items) => [
            {
              ...{ keys: items.map(({ member }) => member.key), puts: [], walletTx: 'tx', drop: () => {} },
              send: async () => ({ kind: 'sent' as const }),
            },
          ],
        },
      }),
    ],
  })
  const challenge = testChallenge({ key: 'http-1', expiresAt: 9e15, clientAgentId })
  await store.commit({ puts: [{ table: 'challenges', row: challenge }] })
  return { core, rail, store, challenge: { ...challenge, version: 1 } }
}

test.each([
  ['the offer', 'agent://offer', undefined, { clientAgentId: 'agent://offer' }],
  ['the payment', null, 'agent://pays', { clientAgentId: 'agent://pays' }],
  ['nobody', null, undefined, {}],
])('the log of a payment begins with the agent that %s named', async (_who, opened, pays, logged) => {
  const { core, rail, store, challenge } = await setUp(opened)
  const payment = testPayment()
  const claimed = await claimPayment(
    core,
    rail,
    { kind: 'open', challenge, inserts: [] },
    { signed: payment.signed, byKey: true },
    { transport: 'http', payment, ...(pays && { clientAgentId: pays }) },
  )
  await broadcast(core, rail, TRACKER, [claimed!])
  const [first] = await store.audit('http-1')
  expect(first).toMatchObject({ event: 'payment-claimed', actor: 'buyer' })
  expect(first!.details).toEqual({ payer: PAYER, openedAt: 0, loggedAt: core.clock.now(), ...logged })
})

test('so does the log of a plain transfer', async () => {
  const { core, rail, store, challenge } = await setUp('agent://buyer')
  const txHash = `0x${'7a'.repeat(32)}` as const
  const origin = {
    ...{ key: 'plain', challengeId: 'http-1', fromHeight: 7 },
    source: { kind: 'transfer' as const, ordinal: 0, to: challenge.payTo },
  }
  const use = {
    ...{ logIndex: 3, from: PAYER, to: challenge.payTo, value: '10', txHash, sender: PAYER },
    block: BLOCK,
  }
  await recordReceipt(core, rail, { ...challenge, claimed: true }, origin, use, [])
  const [first] = await store.audit('http-1')
  expect(first).toMatchObject({ event: 'payment-claimed', details: { clientAgentId: 'agent://buyer' } })
})

test('so does the log of a challenge that ends unpaid', async () => {
  const { ports, config } = testPorts()
  const engine = createEngine(ports, config)
  const ended = async (requestId: string, named: { clientAgentId?: string }) => {
    const opened = await engine.purchase({ transport: 'a2a', planId: 'basic', requestId, ...named })
    if (opened.kind !== 'challenge') throw new Error('expected an offer')
    const { challengeId } = opened.offer
    await engine.cancel(challengeId, 'buyer')
    return (await ports.store.audit(challengeId))[0]
  }
  expect(await ended('r-1', { clientAgentId: 'agent://buyer' })).toMatchObject({
    event: 'created',
    details: { transport: 'a2a', clientAgentId: 'agent://buyer' },
  })
  expect((await ended('r-2', {}))!.details).not.toHaveProperty('clientAgentId')
})
