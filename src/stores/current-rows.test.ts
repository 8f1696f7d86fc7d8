import { privateKeyToAccount } from 'viem/accounts'
import { beforeEach, expect, test } from 'vitest'
import type { AttemptPhase, Put, Store, TableName, Tables } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { railId } from '../rules/rail-id.ts'
import { samplePut } from '../testing/store-rows.ts'
import { withCurrentRows } from './current-rows.ts'
import { createMemoryStore } from './memory.ts'

/** What the version before rails stored: the same tables, read as plain JSON. */
type EarlierRow = Record<string, unknown> & { key: string; ref: string | null; dueAt: number | null }

const SELLER: Address = `0x${'5e'.repeat(20)}`
const BUYER: Address = `0x${'b0'.repeat(20)}`
const TX: Hex = `0x${'7a'.repeat(32)}`
const BLOCK: Hex = `0x${'bb'.repeat(32)}`
const gasWallet = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const WALLET = gasWallet.address.toLowerCase() as Address

let store: Store
let current: Store
beforeEach(() => {
  store = createMemoryStore()
  current = withCurrentRows(store)
})

const authorizationOf = (from: Address, nonce: Hex) => ({
  ...{ from, to: SELLER, value: '1000000', validAfter: '0', validBefore: '1750000900', nonce },
  signature: `0x${'51'.repeat(64)}1b`,
})

const challenge = (network: (typeof NETWORKS)[number], change: object = {}): EarlierRow => ({
  ...{ key: 'http-1', version: 0, ref: null, dueAt: 5 },
  ...{ requestId: 'r-1', transport: 'http', kind: 'plan', itemId: 'basic', resourceId: 'default' },
  ...{ resource: null, fingerprint: 'f', amount: '1000000', network: network.id, payTo: SELLER },
  ...{ asset: network.token.address, clientAgentId: null, state: 'PENDING', createdAt: 1, expiresAt: 9 },
  ...{ claimed: true, liveAuth: null, receipt: null, payer: null, txHash: null, paidAt: null },
  ...{ leaseUntil: null, deliveryTries: 0, failure: null, result: null, refundTxHash: null },
  ...change,
})

/** Stores a row as it is, whatever this version thinks of it. */
async function put(table: TableName, row: EarlierRow): Promise<void> {
  expect(await store.commit({ puts: [{ table, row } as unknown as Put] })).toEqual({ kind: 'applied' })
}

/** Reads it in every way that a store has. */
async function read<N extends TableName>(table: N, { key, ref }: EarlierRow): Promise<Tables[N]> {
  const [got] = await current.get(table, [key])
  if (ref !== null) expect(await current.list(table, ref)).toEqual([got])
  // Postponed, so that the next row is the only one due.
  const due = await current.takeDue(table, 5, 100, 10)
  expect(due).toEqual([{ ...got!, version: 2, dueAt: 100 }])
  return got!
}

test.each(NETWORKS)('a challenge on $word, also one that was asked under another name', async (network) => {
  const row = challenge(network, { askedAs: 'r-0', earlierNames: ['r-x'], tries: 2, undelivered: 'h' })
  await put('challenges', row)
  const { askedAs: _, ...rest } = row
  expect(await read('challenges', row)).toEqual({
    ...rest,
    version: 1,
    rail: railId(network, 'exact'),
    offeredRequestId: 'r-0',
  })
  await put('challenges', challenge(network, { key: 'http-2', dueAt: null }))
  const [plain] = await current.get('challenges', ['http-2'])
  expect(plain).not.toHaveProperty('offeredRequestId')
})

const phases: AttemptPhase[] = ['CLAIMED', 'BROADCAST', 'CONFIRMED', 'ABANDONED', 'DEAD', 'RELEASED']

test.each(phases)('an authorization that is %s', async (phase) => {
  for (const [index, network] of NETWORKS.entries()) {
    const nonce: Hex = `0x${'a1'.repeat(32)}`
    const packLimit = index === 0 ? null : 25
    const row: EarlierRow = {
      ...{ key: `${network.chainId}:${network.token.address}:${BUYER}:${nonce}`, version: 0 },
      ...{ ref: `http-${index}`, dueAt: 5, challengeId: 'http-1', auth: authorizationOf(BUYER, nonce) },
      ...{ saltHash: 's', claim: { requestId: 'r-1', at: 1, openedAt: 1 }, phase, fromHeight: 7 },
      ...{ walletTx: `${WALLET}:0000000001`, sends: 1, packLimit, reason: null, gasHolds: ['h'] },
    }
    await put('authorizations', row)
    const { packLimit: _, ...rest } = row
    const [got] = await current.get('authorizations', [row.key])
    expect(got).toEqual({
      ...rest,
      version: 1,
      rail: railId(network, 'exact'),
      payer: BUYER,
      value: '1000000',
      batchLimit: packLimit,
    })
    expect(await current.list('authorizations', row.ref!)).toEqual([got])
  }
  const due = await current.takeDue('authorizations', 5, 5, 100)
  expect(due.map(({ rail }) => rail).sort()).toEqual(
    NETWORKS.map((network) => railId(network, 'exact')).sort(),
  )
})

const receipt = (key: string): EarlierRow => ({
  ...{ key, version: 0, ref: 'http-1', dueAt: 5, challengeId: 'http-1', role: 'pays', payer: BUYER },
  ...{ value: '1000000', txHash: TX, logIndex: 3, blockNumber: 8, blockHash: BLOCK, fromHeight: 7 },
  ...{ finalized: false, lost: false },
})

const refund = (key: string, change: object = {}): EarlierRow => ({
  ...{ key, version: 0, ref: 'http-1', dueAt: 5, challengeId: 'http-1', movesState: true },
  ...{ recipient: BUYER, value: '1000000', auth: null, phase: 'WAITING', attempts: 0, fromHeight: 7 },
  ...{ walletTx: null, txHash: null, reason: null },
  ...change,
})

test.each(NETWORKS)(
  'receipts of a payment and of a plain transfer on $word, and their refunds',
  async (network) => {
    const rail = railId(network, 'exact')
    const paid = `${network.chainId}:${network.token.address}:${BUYER}:0x${'a1'.repeat(32)}`
    const plain = `${network.chainId}:${TX}:plain-12`
    for (const [key, source] of [
      [paid, { kind: 'payment' }],
      [plain, { kind: 'transfer', ordinal: 12 }],
    ] as const) {
      await put('receipts', { ...receipt(key), ref: key })
      expect(await read('receipts', { ...receipt(key), ref: key })).toEqual({
        ...receipt(key),
        ref: key,
        version: 1,
        rail,
        source,
      })
    }
    const auth = authorizationOf(SELLER, `0x${'ef'.repeat(32)}`)
    const signed = { auth, phase: 'BROADCAST', attempts: 1, walletTx: `${WALLET}:0000000002`, refusal: null }
    for (const row of [refund(paid), refund(plain, signed)]) {
      await put('refunds', { ...row, ref: row.key })
      expect(await read('refunds', { ...row, ref: row.key })).toEqual({
        ...row,
        ref: row.key,
        version: 1,
        rail,
      })
    }
  },
)

const payments = (['a1', 'a2'] as const).map((byte) => authorizationOf(BUYER, `0x${byte.repeat(32)}`))
const refunds = (['e1', 'e2'] as const).map((byte) => authorizationOf(SELLER, `0x${byte.repeat(32)}`))

/** As a batch of that version: members are named by the keys of payments, refunds by those of what they return. */
const batches = NETWORKS.flatMap((network) => {
  const keys = payments.map(
    ({ from, nonce }) => `${network.chainId}:${network.token.address}:${from}:${nonce}`,
  )
  const both = (kind: 'payment' | 'refund') => keys.map((key) => ({ kind, key }))
  const plain = `${network.chainId}:${TX}:plain-0`
  return [
    { what: 'payments', network, calls: payments, keys, members: both('payment') },
    { what: 'refunds', network, calls: refunds, keys, members: both('refund') },
    {
      what: 'the refund of a plain transfer',
      network,
      calls: refunds.slice(0, 1),
      keys: [plain],
      members: [{ kind: 'refund', key: plain }],
    },
    // The calls of a closed one are in the rows of its payments.
    { what: 'mined payments', network, calls: [], keys, members: both('payment') },
    { what: 'nothing', network, calls: [], keys: [], members: [] },
  ]
})

test.each(batches)('a transaction of $what on $network.word', async ({ network, calls, keys, members }) => {
  // Long and short data: the list's length is written in one byte, two or three.
  for (const [nonce, bytes] of [0, 40, 300, 70_000].entries()) {
    const raw = await gasWallet.signTransaction({
      ...{ type: 'eip1559', chainId: network.chainId, nonce, to: network.token.address, gas: 160_000n },
      ...{ maxFeePerGas: 2_100_000_000n, maxPriorityFeePerGas: 100_000_000n },
      data: `0x${'cf'.repeat(bytes)}`,
    })
    const row: EarlierRow = {
      ...{ key: `${WALLET}:${String(nonce).padStart(10, '0')}`, version: 0, ref: `w-${nonce}` },
      ...{ dueAt: nonce === 0 ? 5 : null, wallet: WALLET, nonce, calls, members: keys },
      ...{ maxFeePerGas: '2100000000', maxPriorityFeePerGas: '100000000', gas: 160_000, raw },
      ...{ hashes: [TX], phase: 'SENT', createdAt: 1 },
    }
    await put('walletTxs', row)
    const expected = { ...row, version: 1, members, chainId: network.chainId }
    expect(await current.get('walletTxs', [row.key])).toEqual([expected])
    expect(await current.list('walletTxs', row.ref!)).toEqual([expected])
    if (nonce > 0) continue
    expect(await current.takeDue('walletTxs', 5, 5, 10)).toEqual([{ ...expected, version: 2 }])
  }
})

test('rows of this version come back untouched, and what is absent stays absent', async () => {
  const tables = [
    ...(['challenges', 'requests', 'authorizations', 'receipts', 'seen'] as const),
    ...(['refunds', 'walletTxs', 'outbox', 'holds', 'lots', 'marks'] as const),
  ]
  for (const table of tables) {
    const { row } = samplePut(table, { key: 'k', ref: 'group', dueAt: 5 })
    const same = withCurrentRows({
      ...store,
      get: async () => [row, undefined] as never,
      list: async () => [row] as never,
      takeDue: async () => [row] as never,
    })
    const [got, absent] = await same.get(table, ['k', 'absent'])
    expect(got, table).toBe(row)
    expect(absent).toBeUndefined()
    expect((await same.list(table, 'group'))[0], table).toBe(row)
    expect((await same.takeDue(table, 5, 5, 1))[0], table).toBe(row)
  }
})

test('a store that is a class keeps its methods, also its hints', async () => {
  class OwnStore {
    readonly name = 'own'
    readonly exclusive = true
    readonly #memory = createMemoryStore()
    commit(...given: Parameters<Store['commit']>) {
      return this.#memory.commit(...given)
    }
    get<N extends TableName>(table: N, keys: readonly string[]) {
      return this.#memory.get(table, keys)
    }
    list<N extends TableName>(table: N, ref: string) {
      return this.#memory.list(table, ref)
    }
    takeDue<N extends TableName>(table: N, nowMs: number, untilMs: number, limit: number) {
      return this.#memory.takeDue(table, nowMs, untilMs, limit)
    }
    audit(challengeId: string) {
      return this.#memory.audit(challengeId)
    }
    log(afterSeq: number, limit: number) {
      return this.#memory.log(afterSeq, limit)
    }
    ping() {
      return this.#memory.ping()
    }
    close() {
      return this.#memory.close()
    }
    onCommitted(listener: (ids: readonly string[]) => void) {
      listener([this.name])
      return () => {}
    }
  }
  const own = withCurrentRows(new OwnStore())
  expect(own).toMatchObject({ name: 'own', exclusive: true })
  expect(await own.commit({ puts: [samplePut('requests', { key: 'r' })] })).toEqual({ kind: 'applied' })
  expect(await own.get('requests', ['r'])).toMatchObject([{ key: 'r', version: 1 }])
  expect([await own.log(0, 1), await own.audit('x'), await own.list('requests', 'x')]).toEqual([[], [], []])
  await own.ping()
  const heard: string[] = []
  own.onCommitted?.((ids) => heard.push(...ids))
  expect(heard).toEqual(['own'])
  await own.close()
})
