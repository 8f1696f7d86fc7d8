import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { GatewayError } from '../../errors.ts'
import type { Block, RefundRow, TransferTx, Use } from '../../ports.ts'
import { authorizationKey, type SignedAuthorization } from '../../schemes/exact/authorization.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { proveRefund } from './prove-refund.ts'

const txHash = `0x${'cd'.repeat(32)}` as const
const paymentHash = `0x${'ef'.repeat(32)}` as const
const nonce = `0x${'01'.repeat(32)}` as const
const refundKey = authorizationKey(TESTNET, SELLER, nonce)
const block = (number: number): Block => ({ number, hash: `0x${'0'.repeat(64)}`, timestamp: number * 2 })
const auth: SignedAuthorization = {
  ...{ from: SELLER, to: PAYER, value: '1000', validAfter: '0', validBefore: '150', nonce, signature: '0x' },
}

async function open(found: {
  uses?: Use[]
  signed?: boolean
  tx?: TransferTx
  finalized?: number
  /** It returns unspent credits. */
  credits?: boolean
  /** The signer knows no such receipt. */
  unsignable?: boolean
}) {
  const finalized = block(found.finalized ?? 90)
  const asked: string[][] = []
  const { core, rail, store } = testCore({
    clock: createFakeClock(1000),
    receipts: { sign: (statement) => JSON.stringify(statement) },
    rails: [
      testRail({
        chain: { head: async () => ({ latest: block(100), finalized }) },
        scheme: {
          async uses(keys) {
            asked.push([...keys])
            return { at: block(100), found: found.uses ?? [], mined: [] }
          },
        },
        transfers: async () => ({ at: block(100), found: found.tx }),
        refundSigner: {
          address: SELLER,
          keyOf() {
            if (found.unsignable) throw new Error('no receipt')
            return refundKey
          },
          sign: () => Promise.reject(new Error('no')),
        },
      }),
    ],
  })
  const challenge = testChallenge({
    key: 'http-1',
    requestId: 'r-1',
    amount: '1000',
    state: found.credits ? 'DELIVERED' : 'REFUND_FAILED',
    payer: PAYER,
    txHash: paymentHash,
    receipt: 'receipt',
    paidAt: 5,
    claimed: true,
  })
  const refund: RefundRow = {
    ...{ key: 'receipt', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', movesState: true },
    ...{ recipient: PAYER, value: '1000', auth: found.signed === false ? null : auth, phase: 'FAILED' },
    ...{ attempts: 5, fromHeight: 10, walletTx: null, txHash: null, reason: 'the refund expired unsent' },
    rail: rail.id,
    ...(found.credits && { movesState: false }),
  }
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'refunds', row: refund },
    ],
  })
  return { store, asked, prove: () => proveRefund(core, 'http-1', txHash) }
}

const pays = (number = 80, transfer: object = {}): TransferTx => ({
  txHash,
  sender: PAYER,
  block: block(number),
  transfers: [{ logIndex: 3, from: `0x${'ee'.repeat(20)}`, to: PAYER, value: '1000', ...transfer }],
})
const refused = (words: string) => expect.objectContaining({ message: expect.stringContaining(words) })

test('an exact, final transfer proves the refund once the signed refund has expired unused', async () => {
  const { store, prove } = await open({ tx: pays() })
  expect(await prove()).toMatchObject({ state: 'REFUNDED', refundTxHash: txHash })
  expect(await store.get('refunds', ['receipt'])).toMatchObject([{ phase: 'DONE', txHash, dueAt: null }])
  expect(await store.get('seen', [`84532:${txHash}:3`])).toMatchObject([
    { ref: 'http-1', receipt: 'receipt' },
  ])
  expect(await store.audit('http-1')).toMatchObject([
    { event: 'refund-proven', actor: 'operator', fromState: 'REFUND_FAILED', toState: 'REFUNDED', txHash },
  ])
  expect(await prove(), 'once').toBeInstanceOf(GatewayError)
})

test('a proven refund has a receipt that names both transactions; a refused proof leaves none', async () => {
  const { store, prove } = await open({ tx: pays() })
  const status = await prove()
  if (status instanceof GatewayError) throw status
  expect(JSON.parse(status.refundReceipt!)).toEqual({
    ...{ version: 1, type: 'refund', network: TESTNET.id, payer: PAYER, issuedAt: 1 },
    ...{ asset: TESTNET.token.address, amount: '1000', resourceUrl: 'http://localhost/x402/access' },
    ...{ transaction: paymentHash, refundTransaction: txHash },
  })
  expect((await store.get('challenges', ['http-1']))[0]?.signedRefund).toBe(status.refundReceipt)
  const refused = await open({ tx: pays(95) })
  expect(await refused.prove()).toBeInstanceOf(GatewayError)
  expect((await refused.store.get('challenges', ['http-1']))[0]).not.toHaveProperty('signedRefund')
})

test('a proof is refused if the signed refund landed or may still land, but not if it was cancelled', async () => {
  const key = refundKey
  const landed = { kind: 'transfer', key, block: block(85), txHash: nonce, logIndex: 1 } as const
  const own: Use = { ...landed, from: SELLER, to: PAYER, value: '1000' }
  const canceled = (number: number): Use => ({ kind: 'canceled', key, block: block(number), txHash: nonce })
  // Chain time of block 70 is 140: before validBefore.
  expect(await (await open({ tx: pays(60), finalized: 70 })).prove()).toEqual(refused('may still land'))
  expect(await (await open({ tx: pays(), uses: [own] })).prove()).toEqual(refused('retry the refund'))
  expect(await (await open({ tx: pays(), uses: [own], signed: false })).prove()).toEqual(refused('retry'))
  expect(await (await open({ tx: pays(), uses: [canceled(95)] })).prove()).toEqual(refused('not final yet'))
  expect(await (await open({ tx: pays(), uses: [canceled(60)] })).prove()).toMatchObject({
    state: 'REFUNDED',
  })
  const unsigned = await open({ tx: pays(), signed: false })
  expect(await unsigned.prove()).toMatchObject({ state: 'REFUNDED' })
  expect(unsigned.asked, 'an installation before a lost store would have used the same key').toEqual([
    [refundKey],
  ])
})

test('a refund that can never be signed is resolved by hand', async () => {
  const { asked, prove } = await open({ tx: pays(), signed: false, unsignable: true })
  expect(await prove()).toMatchObject({ state: 'REFUNDED' })
  expect(asked).toEqual([])
})

test('a payment that is not refunded yet is not taken for one that nobody knows', async () => {
  const { core, store } = testCore()
  const paid = testChallenge({ key: 'http-1', requestId: 'r-1', state: 'PAID', receipt: 'receipt' })
  await store.commit({ puts: [{ table: 'challenges', row: paid }] })
  expect(await proveRefund(core, 'http-1', txHash)).toMatchObject({
    code: 'INVALID_REQUEST',
    message:
      'Challenge http-1 is PAID and no refund of its payment has failed; only failed ones are resolved by hand.',
  })
  expect(await proveRefund(core, 'http-2', txHash)).toMatchObject({
    code: 'CHALLENGE_NOT_FOUND',
    message: 'No challenge http-2 is known.',
  })
})

test('no other transaction is accepted as the refund', async () => {
  expect(await (await open({})).prove()).toEqual(refused('in no block'))
  expect(await (await open({ tx: pays(95) })).prove()).toEqual(refused('not final yet'))
  expect(await (await open({ tx: pays(10) })).prove()).toEqual(refused('older than the payment'))
  expect(await (await open({ tx: pays(80, { value: '999' }) })).prove()).toEqual(refused('no plain transfer'))
  expect(await (await open({ tx: pays(80, { to: SELLER }) })).prove()).toEqual(refused('no plain transfer'))
  expect(await (await open({ tx: pays(80, { from: PAYER }) })).prove()).toEqual(refused('no plain transfer'))
  const { store, prove } = await open({ tx: pays() })
  const row = { key: `84532:${txHash}:3`, version: 0, ref: 'other', dueAt: null, receipt: 'another' }
  await store.commit({ puts: [{ table: 'seen', row }] })
  expect(await prove()).toEqual(refused('named for another refund'))
})

test('the refund of unspent credits is proven as well, once, and its sale stays delivered', async () => {
  const { store, prove } = await open({ tx: pays(), credits: true })
  expect(await prove()).toMatchObject({ state: 'DELIVERED' })
  expect(await store.get('refunds', ['receipt'])).toMatchObject([{ phase: 'DONE', txHash, dueAt: null }])
  expect(await store.get('challenges', ['http-1'])).toMatchObject([{ version: 1, refundTxHash: null }])
  expect(await store.audit('http-1')).toMatchObject([
    { event: 'credits-refund-proven', actor: 'operator', toState: 'DELIVERED', txHash },
  ])
  expect(await prove(), 'once').toEqual(refused('is DONE'))
})
