import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChallengeRow, RefundRow, Store } from '../../src/ports.ts'
import type { Discrepancy } from '../../src/reconcile/discrepancy.ts'
import type { Reconciliation } from '../../src/reconcile/reconcile.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import { type DevAccount, signAuthorization, usdcAbi } from '../../src/testing/index.ts'
import { cli } from './cli-terminal.ts'
import { PRICE, startWorld, TOKEN_SECRET, type World } from './world.ts'

const NOWHERE = `0x${'ab'.repeat(32)}` as const

let world: World
let env: Record<string, string>
let dataDir: string
let refundedBuyer: DevAccount
let delivered: string
let refunded: string

/** Three sales that were delivered and one that was refunded, on books that nobody has open. */
beforeAll(async () => {
  world = await startWorld({
    store: 'embedded',
    options: {
      tokenSecret: undefined as never,
      fetchResourceCredentials: (planId) => {
        if (planId === 'pro') throw new Error('sold out')
        return 'a credential'
      },
    },
  })
  const buyer = await world.chain.newBuyer({ micro: 10_000_000n })
  refundedBuyer = await world.chain.newBuyer({ micro: 10_000_000n })
  for (let sale = 0; sale < 3; sale++) delivered = (await world.buy(buyer)).body.challengeId!
  const terms = await world.terms({ planId: 'pro' })
  await world.pay(await world.sign(refundedBuyer, terms.accepts[0]!))
  refunded = terms.challengeId
  await world.until(refunded, 'REFUNDED')
  // Until both receipts are final.
  await world.chain.mine(5)
  await world.gateway.close()
  const { seller, chain } = world
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-reconcile-'))
  await cp(world.dataDir, dataDir, { recursive: true })
  env = {
    SVC_MANAGED_INFRA: 'none',
    SVC_WALLET_ADDRESS: seller.address,
    RPC_URL: chain.rpcUrl,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"},{"planId":"pro","unitAmount":"$2.50"}]',
    TOKEN_SECRET,
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
  }
})
afterAll(async () => {
  await world.stop()
  await rm(dataDir, { recursive: true, force: true })
})

/** Seeds a fault in a copy of the books, or on the chain, and compares; afterwards all is as it was. */
async function compared(
  seed: { books?(store: Store): Promise<void>; chain?(): Promise<unknown>; env?: Record<string, string> },
  ...argv: string[]
): Promise<Reconciliation & { ok: boolean; code: number }> {
  const copy = await mkdtemp(join(tmpdir(), 'paystile-reconcile-'))
  const before = await world.chain.snapshot()
  try {
    await cp(dataDir, copy, { recursive: true })
    const store = openSqliteStore({ path: join(copy, 'paystile.db') })
    await seed.books?.(store)
    await store.close()
    await seed.chain?.()
    await world.chain.mine(4)
    const { code, output } = await cli(
      { ...env, ...seed.env, DATA_DIR: copy },
      'reconcile',
      '--json',
      ...argv,
    )
    return { ...JSON.parse(output), code }
  } finally {
    await world.chain.revert(before)
    await rm(copy, { recursive: true, force: true })
  }
}

async function change(store: Store, challengeId: string, next: (row: ChallengeRow) => Partial<ChallengeRow>) {
  const [row] = await store.get('challenges', [challengeId])
  await store.commit({ puts: [{ table: 'challenges', row: { ...row!, ...next(row!) } }] })
}

async function changeRefund(store: Store, next: Partial<RefundRow>) {
  const [row] = await store.list('refunds', refunded)
  await store.commit({ puts: [{ table: 'refunds', row: { ...row!, ...next } }] })
}

/** A refund of the sale that was delivered. */
async function putRefund(store: Store, next: Partial<RefundRow>) {
  const [[refund], [receipt]] = await Promise.all([
    store.list('refunds', refunded),
    store.list('receipts', delivered),
  ])
  const { key, payer: recipient, value } = receipt!
  const row = {
    ...refund!,
    key,
    version: 0,
    ref: delivered,
    challengeId: delivered,
    recipient,
    value,
    ...next,
  }
  await store.commit({ puts: [{ table: 'refunds', row }] })
}

const send = (from: DevAccount, to: DevAccount, value: bigint) =>
  world.chain.client.writeContract({
    ...{ address: world.chain.usdc, abi: usdcAbi, functionName: 'transfer', args: [to.address, value] },
    ...{ account: from.account, chain: null },
  })

/** A payment that reaches the seller by an authorization, past the gateway. */
async function payPastGateway(): Promise<unknown> {
  const { chain, seller } = world
  const { authorization: auth, signature } = await signAuthorization({
    account: refundedBuyer.account,
    requirements: {
      scheme: 'exact',
      network: chain.network,
      asset: chain.usdc,
      amount: String(PRICE),
      payTo: seller.address,
      maxTimeoutSeconds: 900,
      extra: { name: 'USDC', version: '2' },
    },
  })
  const { from, to, nonce } = auth
  const numbers = [auth.value, auth.validAfter, auth.validBefore].map(BigInt) as [bigint, bigint, bigint]
  return chain.client.writeContract({
    ...{ address: chain.usdc, abi: usdcAbi, functionName: 'transferWithAuthorization' },
    args: [from, to, ...numbers, nonce, signature],
    ...{ account: chain.account(2).account, chain: null },
  })
}

test('books that agree with the chain: exit code 0', async () => {
  const result = await compared({})
  expect(result.found).toEqual([])
  expect(result).toMatchObject({
    ok: true,
    code: 0,
    challenges: 4,
    movements: { incoming: 4, outgoing: 1 },
    refundsWaiting: 0,
  })
  const { output } = await cli({ ...env, DATA_DIR: dataDir }, 'reconcile')
  expect(output).toMatch(
    /4 paid challenges of the sqlite store · 4 transfers in, 1 out\nChain and ledger agree\.\n$/,
  )
})

const FAULTS: Array<{
  fault: string
  seed: Parameters<typeof compared>[0]
  found: Partial<Discrepancy>
  says: RegExp
}> = [
  {
    fault: 'a payment by authorization without a receipt',
    seed: { chain: payPastGateway },
    found: { kind: 'orphan-payment', level: 'error', challengeId: null },
    says: /paid \$1\.00 by an authorization that the ledger does not know/,
  },
  {
    fault: 'a receipt whose transfer the chain does not have',
    seed: {
      async books(store) {
        const [receipt] = await store.list('receipts', refunded)
        const key = `${receipt!.key}0`
        const row = { ...receipt!, txHash: NOWHERE, logIndex: 7, key, version: 0, role: 'surplus' } as const
        await store.commit({ puts: [{ table: 'receipts', row }] })
      },
    },
    found: { kind: 'payment-not-on-chain', level: 'error', txHash: NOWHERE },
    says: /names a transfer that the chain does not have/,
  },
  {
    fault: 'a refund that is owed and failed',
    seed: {
      async books(store) {
        await putRefund(store, { phase: 'FAILED', txHash: null, reason: 'no USDC' })
        await change(store, delivered, () => ({ state: 'REFUND_FAILED' }))
      },
    },
    found: { kind: 'refund-missing', level: 'error' },
    says: /the refund of \$1\.00 to 0x[0-9a-f]{40} failed: no USDC/,
  },
  {
    fault: 'a refund that failed in the ledger and is on the chain',
    seed: {
      async books(store) {
        await changeRefund(store, { phase: 'FAILED', txHash: null, reason: 'no USDC' })
        await change(store, refunded, () => ({ state: 'REFUND_FAILED', refundTxHash: null }))
      },
    },
    found: { kind: 'refund-unrecorded', level: 'error' },
    says: /has paid \$2\.50 back to 0x\w+, and the ledger says REFUND_FAILED/,
  },
  {
    fault: 'a refund that the ledger has and the chain has not',
    seed: {
      async books(store) {
        await putRefund(store, { phase: 'DONE', txHash: NOWHERE })
        await change(store, delivered, () => ({ state: 'REFUNDED', refundTxHash: NOWHERE }))
      },
    },
    found: { kind: 'refund-missing', level: 'error', txHash: NOWHERE },
    says: /\$1\.00 went back, but the transaction is not on the chain/,
  },
  {
    fault: 'a refund that is in another transaction than was noted',
    seed: { books: (store) => changeRefund(store, { txHash: NOWHERE }) },
    found: { kind: 'refund-unrecorded', level: 'error' },
    says: /the ledger names transaction 0xabab\w+, and the chain has the refund in 0x/,
  },
  {
    fault: 'a second refund by hand',
    seed: {
      chain: () => send(world.seller, refundedBuyer, 2_500_000n),
    },
    found: { kind: 'double-refund', level: 'error' },
    says: /got \$2\.50 back twice/,
  },
  {
    fault: 'a delivery without a payment',
    seed: {
      async books(store) {
        const [row] = await store.get('challenges', [delivered])
        const key = 'http-never-paid'
        await store.commit({
          puts: [
            {
              table: 'challenges',
              row: { ...row!, key, ref: null, version: 0, receipt: null, txHash: null },
            },
          ],
          audit: [
            {
              at: 1,
              challengeId: key,
              requestId: key,
              event: 'delivered',
              fromState: null,
              toState: 'DELIVERED',
              actor: 'gateway',
            },
          ],
        })
      },
    },
    found: { kind: 'unpaid-delivery', level: 'error', challengeId: 'http-never-paid' },
    says: /delivered for \$1\.00, but no payment is recorded/,
  },
  {
    fault: 'a receipt of another payer',
    seed: {
      async books(store) {
        const [receipt] = await store.list('receipts', delivered)
        await store.commit({
          puts: [{ table: 'receipts', row: { ...receipt!, payer: `0x${'12'.repeat(20)}` } }],
        })
      },
    },
    found: { kind: 'receipt-differs', level: 'error' },
    says: /payer 0x1212\w+ instead of 0x/,
  },
  {
    fault: 'money that came back for a sale that the ledger calls delivered',
    seed: {
      async books(store) {
        const [row] = await store.list('refunds', refunded)
        await store.commit({
          puts: [],
          removes: [{ table: 'refunds', key: row!.key, version: row!.version }],
        })
        await change(store, refunded, () => ({ state: 'DELIVERED', refundTxHash: null }))
      },
    },
    found: { kind: 'refund-unrecorded', level: 'error' },
    says: /has paid \$2\.50 back to 0x\w+, and the ledger says DELIVERED/,
  },
]

describe('reconcile finds, and nothing beside it,', () => {
  test.each(FAULTS)('$fault', async ({ seed, found, says }) => {
    const result = await compared(seed)
    expect(result.found.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
      expect.stringMatching(says),
    ])
    expect(result.found[0]).toMatchObject(found)
    expect(result).toMatchObject({ ok: false, code: 1 })
  })
})

test('a refund that waits is on its way for an hour, and is missing afterwards', async () => {
  const waiting = (paidAt: number) => async (store: Store) => {
    await putRefund(store, { phase: 'WAITING', txHash: null })
    await change(store, delivered, () => ({ state: 'REFUND_PENDING', paidAt }))
  }
  const young = await compared({ books: waiting(Date.now()) })
  expect(young).toMatchObject({ ok: true, code: 0, refundsWaiting: 1, found: [] })
  const old = await compared({ books: waiting(Date.now() - 3_700_000) })
  expect(old.found).toMatchObject([{ kind: 'refund-missing', challengeId: delivered }])
  expect(old).toMatchObject({ ok: false, code: 1, refundsWaiting: 0 })
  const call = { kind: 'route', state: 'PAID', paidAt: Date.now() - 3_700_000 } as const
  const repeatable = await compared({
    books: (store) => change(store, delivered, () => call),
    env: { REFUND_MIN_AGE_SECONDS: '7200' },
  })
  expect(repeatable).toMatchObject({ ok: true, refundsWaiting: 1 })
})

test('a plain transfer to the seller may be its own money: a warning, and exit code 0', async () => {
  await world.chain.fundEth(refundedBuyer.address, 10n ** 18n)
  const result = await compared({ chain: () => send(refundedBuyer, world.seller, 5n) })
  expect(result.found).toMatchObject([{ kind: 'orphan-payment', level: 'warn' }])
  expect(result).toMatchObject({ ok: true, code: 0 })
})

test('--from-block leaves older payments out, and is checked', async () => {
  const height = Number(await world.chain.client.getBlockNumber())
  const later = await compared({}, '--from-block', String(height))
  expect(later).toMatchObject({ ok: true, fromBlock: height, movements: { incoming: 0, outgoing: 0 } })
  const { code, errors } = await cli({ ...env, DATA_DIR: dataDir }, 'reconcile', '--from-block', 'soon')
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringMatching(/^--from-block is "soon"; /) })
  const beyond = await cli({ ...env, DATA_DIR: dataDir }, 'reconcile', '--json', '--from-block', '99999')
  expect(JSON.parse(beyond.output)).toEqual({
    ok: false,
    errors: [expect.stringMatching(/^--from-block is 99999/)],
  })
})
