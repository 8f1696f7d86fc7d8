import { expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import type { Block, ChallengeRow, RefundRow, SignedAuthorization, TransferTx, Use } from '../ports.ts'
import { NETWORKS } from '../protocol/network.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createChainHead } from './chain-head.ts'
import type { Core } from './core.ts'
import { proveRefund } from './prove-refund.ts'
import { createSignals } from './signals.ts'

const network = NETWORKS[1]!
const payer = `0x${'aa'.repeat(20)}` as const
const seller = `0x${'bb'.repeat(20)}` as const
const txHash = `0x${'cd'.repeat(32)}` as const
const nonce = `0x${'01'.repeat(32)}` as const
const price = { amount: '1000', asset: network.asset, network: network.id, payTo: seller }
const block = (number: number): Block => ({ number, hash: `0x${'0'.repeat(64)}`, timestamp: number * 2 })
const auth: SignedAuthorization = {
  ...{ from: seller, to: payer, value: '1000', validAfter: '0', validBefore: '150', nonce, signature: '0x' },
}

async function open(found: { uses?: Use[]; signed?: boolean; tx?: TransferTx; finalized?: number }) {
  const store = createMemoryStore()
  const plan = { kind: 'plan', planId: 'basic', resourceId: 'default' } as const
  const made = { key: 'http-1', transport: 'http' as const, createdAt: 0, expiresAt: 1, clientAgentId: null }
  const challenge: ChallengeRow = {
    ...newChallenge(termsOf(plan, price, 'r-1'), made),
    ...{ state: 'REFUND_FAILED', payer, receipt: 'receipt', paidAt: 5, claimed: true },
  }
  const refund: RefundRow = {
    ...{ key: 'receipt', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', movesState: true },
    ...{ recipient: payer, value: '1000', auth: found.signed === false ? null : auth, phase: 'FAILED' },
    ...{ attempts: 5, fromHeight: 10, walletTx: null, txHash: null, reason: 'the refund expired unsent' },
  }
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'refunds', row: refund },
    ],
  })
  const finalized = block(found.finalized ?? 90)
  const core = {
    store,
    signals: createSignals(),
    clock: { now: () => 1000 },
    hooks: {},
    config: { network },
    head: createChainHead({ clock: createFakeClock(), alerts: { raise() {} } }),
    refundSigner: { address: seller, nonceOf: () => nonce, sign: () => Promise.reject(new Error('no')) },
    chain: {
      head: async () => ({ latest: block(100), finalized }),
      uses: async () => ({ at: block(100), found: found.uses ?? [], mined: [] }),
      transfers: async () => ({ at: block(100), found: found.tx }),
    },
  } as unknown as Core
  return { core, store, prove: () => proveRefund(core, 'http-1', txHash) }
}

const pays = (number = 80, transfer: object = {}): TransferTx => ({
  txHash,
  block: block(number),
  transfers: [{ logIndex: 3, from: `0x${'ee'.repeat(20)}`, to: payer, value: '1000', ...transfer }],
})
const refused = (words: string) => expect.objectContaining({ message: expect.stringContaining(words) })

test('an exact, final transfer refunds it once the signed refund has expired unused', async () => {
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

test('a signed refund that may still land, or did, stands in the way; a cancelled one does not', async () => {
  const key = { payer: seller, nonce }
  const landed = { kind: 'transfer', key, block: block(85), txHash: nonce, logIndex: 1 } as const
  const own: Use = { ...landed, from: seller, to: payer, value: '1000' }
  const canceled = (number: number): Use => ({ kind: 'canceled', key, block: block(number), txHash: nonce })
  // Chain time of block 70 is 140: before validBefore.
  expect(await (await open({ tx: pays(60), finalized: 70 })).prove()).toEqual(refused('may still land'))
  expect(await (await open({ tx: pays(), uses: [own] })).prove()).toEqual(refused('retry the refund'))
  expect(await (await open({ tx: pays(), uses: [own], signed: false })).prove()).toEqual(refused('retry'))
  expect(await (await open({ tx: pays(), uses: [canceled(95)] })).prove()).toEqual(refused('not final yet'))
  expect(await (await open({ tx: pays(), uses: [canceled(60)] })).prove()).toMatchObject({
    state: 'REFUNDED',
  })
  expect(await (await open({ tx: pays(), signed: false })).prove()).toMatchObject({ state: 'REFUNDED' })
})

test('nothing else is taken for the payment', async () => {
  expect(await (await open({})).prove()).toEqual(refused('in no block'))
  expect(await (await open({ tx: pays(95) })).prove()).toEqual(refused('not final yet'))
  expect(await (await open({ tx: pays(10) })).prove()).toEqual(refused('older than the payment'))
  expect(await (await open({ tx: pays(80, { value: '999' }) })).prove()).toEqual(refused('no plain transfer'))
  expect(await (await open({ tx: pays(80, { to: seller }) })).prove()).toEqual(refused('no plain transfer'))
  expect(await (await open({ tx: pays(80, { from: payer }) })).prove()).toEqual(refused('no plain transfer'))
  const { store, prove } = await open({ tx: pays() })
  const row = { key: `84532:${txHash}:3`, version: 0, ref: 'other', dueAt: null, receipt: 'another' }
  await store.commit({ puts: [{ table: 'seen', row }] })
  expect(await prove()).toEqual(refused('named for another refund'))
})
