import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { Step, Store, TableName } from '../../src/ports.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { encodeTransfer } from '../../src/schemes/exact/token-calls.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
  startPostgres,
  startRedis,
  usdcAbi,
} from '../../src/testing/index.ts'
import { type Ending, earlierVersion, puts } from './earlier-version.ts'
import { answerOf, eventually, PRICE } from './world.ts'

const BASE_URL = 'http://shop.test'

const stores = [
  {
    name: 'SQLite',
    async start() {
      const folder = await mkdtemp(join(tmpdir(), 'paystile-earlier-'))
      return { url: join(folder, 'paystile.db'), stop: () => rm(folder, { recursive: true }) }
    },
    open: async (path: string): Promise<Store> => openSqliteStore({ path }),
  },
  {
    name: 'Postgres',
    start: startPostgres,
    open: (url: string): Promise<Store> => openPostgresStore({ url }),
  },
  { name: 'Redis', start: startRedis, open: (url: string): Promise<Store> => openRedisStore({ url }) },
]

/** What a buyer has in hand when the process that it pays has ended. */
interface Left {
  buyer: DevAccount
  challengeId: string
  header: string
  body: { planId: string; requestId: string }
}

/** What is known of a purchase before it is paid, and how it is paid. */
interface Paying<T> {
  left: T
  pay(): Promise<unknown>
}

describe.each(stores)('what the version before rails left unfinished in $name', ({ start, open }) => {
  let server: { url: string; stop(): Promise<unknown> }
  let chain: DevChain
  /** The second network that this version is paid on; it is preferred. */
  let further: DevChain
  let direct: Store
  let gateway: Gateway
  let count = 0
  const alerts: string[] = []

  const openGateway = (
    store: Store,
    deliver: GatewayOptions['fetchResourceCredentials'],
    chains: readonly DevChain[] = [chain],
  ) =>
    createGateway({
      walletAddress: chain.account(0).address,
      networks: chains.map(({ network }) => network),
      perNetwork: Object.fromEntries(chains.map(({ chainId, rpcUrl }) => [chainId, { rpcUrl }])),
      baseUrl: BASE_URL,
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      gasWalletPrivateKey: chain.account(1).privateKey,
      refundWalletPrivateKey: chain.account(0).privateKey,
      fetchResourceCredentials: deliver!,
      secretKey: 's'.repeat(32),
      store,
      settleWaitSeconds: 1,
      pollIntervalMs: 25,
      refundIntervalSeconds: 1,
      rateLimitPerMinute: 0,
      onAlert: (kind, message) => alerts.push(`${kind}: ${message}`),
    })

  async function access(at: Gateway, body: object, header?: string) {
    const headers = { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return answerOf(await at.fetch(new Request(`${BASE_URL}/x402/access`, init)))
  }

  /**
   * A process of the earlier version that lives until `ending`; how it is asked and paid is up to `act`. Its buyer
   * resends, as buyers do when a payment is not seen yet.
   */
  async function live<T>(
    ending: Ending,
    delivers: 'never' | 'fails',
    act: (at: Gateway, buyer: DevAccount) => Promise<Paying<T>>,
    micro = PRICE,
  ): Promise<T & { buyer: DevAccount }> {
    const buyer = await chain.newBuyer({ micro })
    const { store, ended } = earlierVersion(direct, ending)
    const earlier = await openGateway(store, () =>
      delivers === 'fails' ? Promise.reject(new Error('no licences left')) : new Promise(() => {}),
    )
    const { left, pay } = await act(earlier, buyer)
    const resend = setInterval(() => void pay().catch(() => {}), 2000)
    void pay().catch(() => {})
    await ended
    clearInterval(resend)
    return { ...left, buyer }
  }

  const byPayment = async (at: Gateway, buyer: DevAccount): Promise<Paying<Omit<Left, 'buyer'>>> => {
    const body = { planId: 'basic', requestId: `left-${++count}` }
    const { headers } = await access(at, body)
    const required = decodeJsonObject(headers.get('payment-required') ?? '') as unknown as PaymentRequired
    const accepted = required.accepts[0]!
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
    const header = paymentHeader({ accepted, ...signed })
    return {
      left: { challengeId: required.challengeId, header, body },
      pay: () => access(at, body, header),
    }
  }

  const byTransfer = async (at: Gateway, buyer: DevAccount): Promise<Paying<{ challengeId: string }>> => {
    const opened = await at.purchase({ transport: 'a2a', planId: 'basic', requestId: `left-${++count}` })
    if (opened.kind !== 'challenge') throw new Error(JSON.stringify(opened))
    const { challengeId } = opened.offer
    const txHash = await transfer(buyer)
    const signature = await buyer.account.signMessage({ message: `${challengeId}:${txHash}` })
    const proof = { txHash, signature }
    return { left: { challengeId }, pay: () => at.purchase({ transport: 'a2a', challengeId, proof }) }
  }

  /** The buyer's own transaction, at a price that goes before all others. */
  async function transfer(buyer: DevAccount, to = chain.account(0).address): Promise<Hex> {
    await chain.fundEth(buyer.address, 10n ** 18n)
    const fees = { maxFeePerGas: 90_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n, gas: 200_000n }
    return chain.client.writeContract({
      ...{ account: buyer.account, chain: null, address: chain.usdc, abi: usdcAbi },
      ...{ functionName: 'transfer', args: [to, PRICE], ...fees },
    })
  }

  const has = async (who: DevAccount, micro: bigint) =>
    eventually(async () => (await chain.balanceOf(who.address)) === micro)
  const attemptOf = async ({ challengeId }: { challengeId: string }) =>
    (await direct.list('authorizations', challengeId))[0]!
  const stateOf = async ({ challengeId }: { challengeId: string }) =>
    (await gateway.status(challengeId))?.state
  const until = (left: { challengeId: string }, state: string) =>
    eventually(async () => {
      await chain.mine(1)
      return (await stateOf(left)) === state
    })

  const left = {} as Record<
    | 'claimed'
    | 'released'
    | 'abandoned'
    | 'mined'
    | 'pending'
    | 'unsent'
    | 'paid'
    | 'waiting'
    | 'returned'
    | 'returning',
    Left
  >
  const proven = {} as Record<'paid' | 'waiting', { challengeId: string; buyer: DevAccount }>

  async function leave(): Promise<void> {
    const sent: Ending = { isLast: puts('authorizations', 'BROADCAST'), stored: true }
    const paid: Ending = { isLast: puts('challenges', 'PAID'), stored: true }
    const failed: Ending = { isLast: puts('challenges', 'REFUND_PENDING'), stored: true }
    const refunded: Ending = { isLast: puts('refunds', 'BROADCAST'), stored: true, runsJobs: true }
    left.claimed = await live({ ...sent, stored: false }, 'never', byPayment)
    const released = { isLast: puts('authorizations', 'RELEASED'), stored: true }
    left.released = await live(released, 'never', byPayment, 0n)
    left.mined = await live(sent, 'never', byPayment)
    await has(left.mined.buyer, 0n)
    left.paid = await live(paid, 'never', byPayment)
    proven.paid = await live(paid, 'never', byTransfer)
    left.waiting = await live(failed, 'fails', byPayment)
    proven.waiting = await live(failed, 'fails', byTransfer)
    left.returned = await live(
      {
        ...refunded,
        meanwhile: async (step) => void (puts('challenges', 'REFUND_PENDING')(step) && (await chain.mine(3))),
      },
      'fails',
      byPayment,
    )
    await has(left.returned.buyer, PRICE)
    // From here on nothing is mined by itself. The first one's buyer is quicker with the money than its payment.
    const abandoned = {
      isLast: puts('authorizations', 'ABANDONED'),
      stored: true,
      async meanwhile(step: Step) {
        if (!puts('authorizations', 'BROADCAST')(step)) return
        await transfer(drained!, chain.account(9).address)
        void eventually(async () => (await chain.client.getTxpoolStatus()).pending >= 2).then(() =>
          chain.mine(1),
        )
      },
    }
    let drained: DevAccount | undefined
    left.abandoned = await live(abandoned, 'never', async (at, buyer) => {
      drained = buyer
      await chain.setAutomine(false)
      return byPayment(at, buyer)
    })
    left.returning = await live(
      {
        ...refunded,
        async meanwhile(step) {
          if (puts('authorizations', 'BROADCAST')(step))
            void eventually(async () => (await chain.client.getTxpoolStatus()).pending >= 1).then(() =>
              chain.mine(1),
            )
          if (puts('challenges', 'REFUND_PENDING')(step)) await chain.mine(3)
        },
      },
      'fails',
      byPayment,
    )
    await eventually(async () => (await chain.client.getTxpoolStatus()).pending === 1)
    left.pending = await live(sent, 'never', byPayment)
    await eventually(async () => (await chain.client.getTxpoolStatus()).pending === 2)
    left.unsent = await live(sent, 'never', byPayment)
    const [walletTx] = await direct.get('walletTxs', [(await attemptOf(left.unsent)).walletTx!])
    await eventually(async () => (await chain.client.getTxpoolStatus()).pending === 3)
    await chain.client.dropTransaction({ hash: walletTx!.hashes[0]! })
  }

  beforeAll(async () => {
    ;[server, chain, further] = await Promise.all([
      start(),
      startDevChain(),
      startDevChain({ chainId: 421614 }),
    ])
    direct = await open(server.url)
    await leave()
  }, 120_000)
  afterAll(async () => {
    await gateway?.close()
    await direct?.close()
    await Promise.all([server?.stop(), chain?.stop(), further?.stop()])
  })

  test('is stored as that version stored it', async () => {
    const phases = await Promise.all(
      Object.entries(left).map(async ([name, one]) => [name, (await attemptOf(one)).phase] as const),
    )
    expect(Object.fromEntries(phases)).toEqual({
      claimed: 'CLAIMED',
      released: 'RELEASED',
      abandoned: 'ABANDONED',
      mined: 'BROADCAST',
      pending: 'BROADCAST',
      unsent: 'BROADCAST',
      paid: 'CONFIRMED',
      waiting: 'CONFIRMED',
      returned: 'CONFIRMED',
      returning: 'CONFIRMED',
    })
    const wallet = chain.account(1).address.toLowerCase()
    expect((await attemptOf(left.pending)).walletTx).toMatch(new RegExp(`^${wallet}:\\d{10}$`))
    const ids = [...Object.values(left), ...Object.values(proven)].map(({ challengeId }) => challengeId)
    const tables: TableName[] = ['authorizations', 'receipts', 'refunds']
    const rows = await Promise.all(tables.flatMap((table) => ids.map((id) => direct.list(table, id))))
    const challenges = await direct.get('challenges', ids)
    const transactions = await direct.list('walletTxs', wallet)
    expect(transactions.length).toBeGreaterThan(5)
    for (const row of [...rows.flat(), ...challenges, ...transactions]) {
      for (const field of ['rail', 'source', 'batchLimit', 'chainId']) expect(row).not.toHaveProperty(field)
    }
  })

  test('is finished by this version on two networks, each payment once', async () => {
    await chain.setAutomine(true)
    // What was given up lands after all: anybody may send it.
    await chain.mint(left.abandoned.buyer.address, PRICE)
    const auth = (await attemptOf(left.abandoned)).auth as unknown as SignedAuthorization
    await chain.client.sendTransaction({
      ...{ account: chain.account(2).account, chain: null, to: chain.usdc, data: encodeTransfer(auth) },
    })
    await has(left.abandoned.buyer, 0n)
    gateway = await openGateway(
      { ...direct, close: async () => {} },
      (_plan, _resource, _wallet, { challengeId }) => Promise.resolve(`credential of ${challengeId}`),
      [further, chain],
    )
    for (const one of [left.mined, left.pending, left.unsent, left.abandoned, left.paid, proven.paid])
      await until(one, 'DELIVERED')
    for (const one of [left.waiting, left.returned, left.returning, proven.waiting]) {
      await until(one, 'REFUNDED')
      expect(await chain.balanceOf(one.buyer.address)).toBe(PRICE)
    }
    for (const { challengeId, header, body, buyer } of [left.mined, left.pending, left.unsent, left.paid]) {
      expect(await access(gateway, body, header)).toMatchObject({
        status: 200,
        body: { challengeId, accessToken: `credential of ${challengeId}` },
      })
      expect(await chain.balanceOf(buyer.address)).toBe(0n)
    }
    // What was certainly never sent may be sent again.
    expect((await attemptOf(left.claimed)).phase).toBe('RELEASED')
    await chain.mint(left.released.buyer.address, PRICE)
    for (const { challengeId, header, body } of [left.claimed, left.released]) {
      const answer = await eventually(async () => {
        const { status, body: grant } = await access(gateway, body, header)
        return status !== 503 && { status, challengeId: grant.challengeId }
      })
      expect(answer).toEqual({ status: 200, challengeId })
    }
  })

  test('and the books are right', async () => {
    const delivered = ['claimed', 'released', 'abandoned', 'mined', 'pending', 'unsent', 'paid'] as const
    for (const name of delivered) expect(await chain.balanceOf(left[name].buyer.address), name).toBe(0n)
    expect(await chain.balanceOf(chain.account(0).address)).toBe(BigInt(delivered.length + 1) * PRICE)
    const { store } = gateway.backstage
    const ids = [...Object.values(left), ...Object.values(proven)].map(({ challengeId }) => challengeId)
    await eventually(async () => {
      await chain.mine(1)
      const receipts = (await Promise.all(ids.map((id) => store.list('receipts', id)))).flat()
      return receipts.length === ids.length && receipts.every(({ finalized, lost }) => finalized && !lost)
    })
    const wallet = chain.account(1).address.toLowerCase()
    const open = async () => [
      ...(await store.list('walletTxs', wallet)),
      ...(await store.list('walletTxs', `84532:${wallet}`)),
    ]
    await eventually(async () => (await open()).length === 0)
    expect(alerts.filter((alert) => !alert.startsWith('delivery-failed'))).toEqual([])
  })
})
