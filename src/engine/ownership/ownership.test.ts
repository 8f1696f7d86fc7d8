import { describe, expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { MAINNET, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { GatewayError } from '../../errors.ts'
import type { ChallengeRow, CreditRow, Delivery, Store } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { auditEntry } from '../apply-event.ts'
import { createAccounts } from '../credits/accounts.ts'
import { deliveredChange } from '../deliver/delivered.ts'
import { runJobs } from '../jobs/run-jobs.ts'
import type { Wallet, WalletProof } from '../outcome.ts'
import { findOwned, whyEnded } from './find-owned.ts'
import { createLotIndex } from './index-lots.ts'
import { accountOf } from './lots.ts'
import { createWalletProofs } from './prove-wallet.ts'

const NOW = 1_750_000_000_000
const HOUR = 3_600_000
const KEY_WALLET: Wallet = { account: PAYER, network: null }

const delivery: Delivery = {
  instant: true,
  deliver: async () => ({ kind: 'delivered', sealed: 'sealed', expiresAt: NOW + HOUR }),
  open: async ({ challengeId }, sealed) => ({ challengeId, accessToken: `token ${sealed}` }) as never,
  expiryOf: () => NOW + HOUR,
}

function world(hasSigned: ReturnType<typeof testRail>['hasSigned'] = async () => true) {
  const rails = [TESTNET, MAINNET].map((network) => testRail({ network, hasSigned }))
  const clock = createFakeClock(NOW)
  const made = testCore({ clock, rails, delivery, config: { payerFailuresPerMinute: 3 } })
  return { ...made, clock, rails }
}

const paid = (change: Partial<ChallengeRow> & { key: string }): ChallengeRow =>
  testChallenge({ state: 'PAID', payer: PAYER, txHash: '0x1', paidAt: NOW, receipt: change.key, ...change })

/** Delivers it as the engine does. */
async function sell(
  { core, store }: Pick<ReturnType<typeof world>, 'core' | 'store'>,
  challenge: ChallengeRow,
  expiresAt: number | null = NOW + HOUR,
) {
  const facts = { at: NOW, actor: 'gateway' as const }
  const { puts, audit } = deliveredChange(core, challenge, facts, { result: 'sealed', expiresAt })
  expect(await store.commit({ puts, audit })).toEqual({ kind: 'applied' })
}

const change = async (store: Store, key: string, to: Partial<ChallengeRow>) => {
  const [row] = await store.get('challenges', [key])
  await store.commit({ puts: [{ table: 'challenges', row: { ...row!, ...to } }] })
}

describe('what a wallet owns', () => {
  test('is the plan that it bought, given again with its own token; nobody else owns it', async () => {
    const made = world()
    await sell(made, paid({ key: 'a' }))
    const owned = (wallet: Wallet, access = {}) =>
      findOwned(made.core, wallet, { planId: 'basic', ...access })
    expect(await owned(KEY_WALLET)).toMatchObject({
      ...{ kind: 'granted', cached: true, settled: { payer: PAYER } },
      grant: { challengeId: 'a', accessToken: 'token sealed' },
    })
    expect(await findOwned(made.core, KEY_WALLET, {})).toMatchObject({ grant: { challengeId: 'a' } })
    expect(await owned({ account: `0x${'bb'.repeat(20)}`, network: null })).toBeUndefined()
    expect(await owned(KEY_WALLET, { planId: 'other' })).toBeUndefined()
    expect(await owned(KEY_WALLET, { resourceId: 'other' })).toBeUndefined()
  })

  test('of a wallet with code counts on the network of the purchase alone', async () => {
    const made = world()
    await sell(made, paid({ key: 'a' }))
    const on = (network: string) => findOwned(made.core, { account: PAYER, network }, { planId: 'basic' })
    expect(await on(TESTNET.id)).toBeDefined()
    expect(await on(MAINNET.id)).toBeUndefined()
  })

  test('ends with its expiry; of several the last one counts', async () => {
    const made = world()
    await sell(made, paid({ key: 'long' }), NOW + 2 * HOUR)
    await sell(made, paid({ key: 'short' }), NOW + HOUR)
    const find = async () => (await findOwned(made.core, KEY_WALLET, { planId: 'basic' }))?.grant.challengeId
    expect(await find()).toBe('long')
    await change(made.store, 'long', { state: 'REFUNDED' })
    expect(await find()).toBe('short')
    await made.clock.advance(HOUR)
    expect(await find()).toBeUndefined()
    await sell(made, paid({ key: 'endless' }), null)
    expect(await find()).toBe('endless')
  })

  test.each<[string, Partial<ChallengeRow>]>([
    ['refunded', { state: 'REFUNDED' }],
    ['about to be refunded', { state: 'REFUND_PENDING' }],
    ["another payer's", { payer: `0x${'cc'.repeat(20)}` }],
  ])('is nothing once the purchase is %s', async (_what, to) => {
    const made = world()
    await sell(made, paid({ key: 'a' }))
    await change(made.store, 'a', to)
    expect(await findOwned(made.core, KEY_WALLET, { planId: 'basic' })).toBeUndefined()
  })

  test('is nothing once a reorganisation has taken the payment', async () => {
    const made = world()
    await sell(made, paid({ key: 'a' }))
    const receipt = { key: 'a', version: 0, ref: 'a', dueAt: null, lost: true }
    await made.store.commit({ puts: [{ table: 'receipts', row: receipt as never }] })
    expect(await findOwned(made.core, KEY_WALLET, { planId: 'basic' })).toBeUndefined()
  })

  test.each(['closing', 'closed', 'lost'] as const)('is nothing once its credits are %s', async (ended) => {
    const made = world()
    await sell(made, paid({ key: 'a', credits: 3 }))
    expect(await findOwned(made.core, KEY_WALLET, { planId: 'basic' })).toBeDefined()
    const [row] = await made.store.get('credits', ['a'])
    await made.store.commit({ puts: [{ table: 'credits', row: { ...row!, ended } }] })
    expect(await findOwned(made.core, KEY_WALLET, { planId: 'basic' })).toBeUndefined()
    expect(await whyEnded(made.core, 'a')).toMatchObject({ code: 'UNAUTHORIZED' })
  })

  test('is sold again to who is buying once less is left than the cheapest call costs', async () => {
    const made = world()
    const routes = [2, 5].map((credits) => ({
      ...{ routeId: `r-${credits}`, method: 'GET' as const, path: `/${credits}`, unitAmount: '$1', credits },
    }))
    made.core.config.catalog = buildCatalog([{ planId: 'basic', unitAmount: '$1', credits: 3 }], routes)
    await sell(made, paid({ key: 'a', credits: 3 }))
    const owned = (buying: boolean) => findOwned(made.core, KEY_WALLET, { planId: 'basic' }, buying)
    expect(await owned(true)).toBeDefined()
    const [row] = await made.store.get('credits', ['a'])
    await made.store.commit({ puts: [{ table: 'credits', row: { ...row!, spent: 2 } }] })
    expect(await owned(true)).toBeUndefined()
    expect(await owned(false)).toBeDefined()
  })

  test('is not sold again for credits that no route takes, that a call still holds, or beside access without credits', async () => {
    const made = world()
    const plans = [{ planId: 'basic', unitAmount: '$1', credits: 3 }]
    const route = { routeId: 'r', method: 'GET' as const, path: '/r', unitAmount: '$1', credits: 2 }
    const reserved = [{ id: 'call', credits: 2, until: NOW + 1000 }]
    await sell(made, paid({ key: 'a', credits: 3 }))
    const owned = () => findOwned(made.core, KEY_WALLET, { planId: 'basic' }, true)
    const spend = async (to: Partial<CreditRow>) => {
      const [row] = await made.store.get('credits', ['a'])
      await made.store.commit({ puts: [{ table: 'credits', row: { ...row!, ...to } }] })
    }
    made.core.config.catalog = buildCatalog(plans, [route])
    await spend({ reserved })
    expect(await owned(), 'the call may fail').toBeDefined()
    await spend({ reserved: [], spent: 2 })
    expect(await owned()).toBeUndefined()
    made.core.config.catalog = buildCatalog(plans, [])
    expect(await owned(), 'no route takes credits').toBeDefined()
    made.core.config.catalog = buildCatalog([{ planId: 'basic', unitAmount: '$1' }], [route])
    await sell(made, paid({ key: 'timed' }), NOW + HOUR)
    expect(await owned(), 'bought since, without credits').toMatchObject({ grant: { challengeId: 'timed' } })
  })

  test('survives retention where the gateway signs the token, and only there', async () => {
    const made = world()
    await sell(made, paid({ key: 'a' }))
    await change(made.store, 'a', { result: null, prunedAt: NOW })
    expect(await findOwned(made.core, KEY_WALLET, { planId: 'basic' })).toBeDefined()
    const issued = { ...made.core, delivery: { ...delivery, instant: false } }
    expect(await findOwned(issued, KEY_WALLET, { planId: 'basic' })).toBeUndefined()
  })

  test('is forgotten a day after its end', async () => {
    const made = world()
    await sell(made, paid({ key: 'a' }))
    const pass = () => runJobs(made.core, createAccounts(made.core), () => ({}) as never)
    await made.clock.advance(HOUR + 86_400_000 - 1)
    await pass()
    expect(await made.store.get('lots', ['a'])).toMatchObject([{ key: 'a' }])
    await made.clock.advance(1)
    await pass()
    expect(await made.store.get('lots', ['a'])).toEqual([undefined])
  })

  test('ids that contain colons do not make two accounts one', () => {
    expect(accountOf(PAYER, 'a:b', 'c')).not.toBe(accountOf(PAYER, 'a', 'b:c'))
  })

  test('a route leaves no lot', async () => {
    const made = world()
    const facts = { at: NOW, actor: 'gateway' as const }
    const { puts } = deliveredChange(made.core, paid({ key: 'r', kind: 'route' }), facts, { result: null })
    expect(puts.map(({ table }) => table)).toEqual(['challenges'])
  })
})

describe('sales of before', () => {
  /** As an earlier version stored it: without a lot. */
  async function soldBefore(store: Store, key: string, to: Partial<ChallengeRow> = {}) {
    const row = paid({ key, state: 'DELIVERED', result: 'old', ...to })
    const audit = [
      auditEntry({ ...row, state: 'PAID' }, 'delivered', { at: NOW, actor: 'gateway' }, 'DELIVERED'),
    ]
    await store.commit({ puts: [{ table: 'challenges', row }], audit })
  }

  test('are indexed page by page, and the next start goes on where the last one stopped', async () => {
    const made = world()
    for (let index = 0; index < 1001; index++) await soldBefore(made.store, `c${index}`)
    const lots = async () => (await made.store.list('lots', accountOf(PAYER, 'basic', 'default'))).length
    const index = createLotIndex(made.core)
    await index()
    expect(await lots()).toBe(500)
    const after = createLotIndex(made.core)
    for (let pass = 0; pass < 4; pass++) await after()
    expect(await lots()).toBe(1001)
    expect(await made.store.get('marks', ['lots-indexed'])).toMatchObject([{ value: 1001, dueAt: null }])
    const seen: number[] = []
    const store = {
      ...made.store,
      log: (seq: number, limit: number) => {
        seen.push(seq)
        return made.store.log(seq, limit)
      },
    }
    await createLotIndex({ ...made.core, store })()
    expect(seen, 'the last page again').toEqual([501])
  })

  test('that ended, were refunded or cannot be opened are left out; lots of this version stay', async () => {
    const made = world()
    await soldBefore(made.store, 'refunded', { state: 'REFUNDED' })
    await soldBefore(made.store, 'pruned', { result: null })
    await soldBefore(made.store, 'route', { kind: 'route' })
    await sell(made, paid({ key: 'new' }), NOW + 5 * HOUR)
    await createLotIndex(made.core)()
    expect(await made.store.list('lots', accountOf(PAYER, 'basic', 'default'))).toMatchObject([
      { key: 'new', version: 1, expiresAt: NOW + 5 * HOUR },
    ])
    const ended = world()
    await soldBefore(ended.store, 'old')
    await ended.clock.advance(30 * HOUR)
    await createLotIndex(ended.core)()
    expect(await ended.store.get('lots', ['old'])).toEqual([undefined])
  })

  test('a store that does not answer is asked again, and the operator is told', async () => {
    const made = world()
    await soldBefore(made.store, 'a')
    let fails = true
    const log: Store['log'] = async (...asked) => {
      if (fails) throw new Error('away')
      return made.store.log(...asked)
    }
    const index = createLotIndex({ ...made.core, store: { ...made.store, log } })
    await index()
    expect(made.alerts).toMatchObject([{ kind: 'job-failed', message: expect.stringContaining('away') }])
    fails = false
    await index()
    expect(await made.store.get('lots', ['a'])).toMatchObject([{ key: 'a' }])
  })
})

describe('a proof', () => {
  const proof = (to: Partial<WalletProof> = {}): WalletProof => ({
    ...{
      account: PAYER,
      network: TESTNET.id,
      text: 't',
      signature: '0x1',
      nonce: 'n',
      endsAt: NOW + 300_000,
    },
    ...to,
  })
  const said = (answer: unknown) => (answer instanceof GatewayError ? [answer.code, answer.message] : answer)

  test('is good once; of a hundred at once on two instances one wins', async () => {
    const made = world()
    const instances = [createWalletProofs(made.core), createWalletProofs({ ...made.core })]
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => instances[index % 2]!(proof())),
    )
    const good = answers.filter((answer) => !(answer instanceof GatewayError))
    expect(good).toEqual([KEY_WALLET])
    expect(said(await instances[0]!(proof()))).toEqual(['UNAUTHORIZED', expect.stringMatching(/used before/)])
    expect(await instances[0]!(proof({ nonce: 'm' }))).toEqual(KEY_WALLET)
    const other: Address = `0x${'bb'.repeat(20)}`
    expect(await instances[0]!(proof({ account: other })), 'a nonce belongs to its wallet').toMatchObject({
      account: other,
    })
  })

  test('is remembered until nobody would take it any more', async () => {
    const made = world()
    await createWalletProofs(made.core)(proof())
    const pass = () => runJobs(made.core, createAccounts(made.core), () => ({}) as never)
    await made.clock.advance(300_000)
    await pass()
    expect(await made.store.get('marks', [`sign-in/${PAYER}/n`])).toMatchObject([{ version: 1 }])
    await made.clock.advance(600_000)
    await pass()
    expect(await made.store.get('marks', [`sign-in/${PAYER}/n`])).toEqual([undefined])
  })

  test('of another key, or for another chain, is refused and stores nothing', async () => {
    const made = world(async () => false)
    const prove = createWalletProofs(made.core)
    expect(said(await prove(proof()))).toEqual(['UNAUTHORIZED', expect.stringMatching(/not of 0xaa/)])
    expect(said(await prove(proof({ network: 'eip155:1' })))).toEqual([
      'UNAUTHORIZED',
      expect.stringMatching(/eip155:1 is not a network/),
    ])
    expect(await made.store.get('marks', [`sign-in/${PAYER}/n`])).toEqual([undefined])
  })

  test('that code confirms is a wallet on that network only, and code is asked so often a minute', async () => {
    let asked = 0
    const made = world(async (_account, _text, signature, mayAskCode) => {
      if (signature === '0x1') return true
      if (!mayAskCode?.()) return false
      asked++
      return signature === '0x2'
    })
    const prove = createWalletProofs(made.core)
    expect(await prove(proof({ signature: '0x2', nonce: 'a' }))).toEqual({
      account: PAYER,
      network: TESTNET.id,
    })
    for (const nonce of ['b', 'c']) await prove(proof({ signature: '0x3', nonce }))
    expect(said(await prove(proof({ signature: '0x2', nonce: 'd' })))).toEqual([
      'RATE_LIMITED',
      expect.stringMatching(/Too many sign-ins/),
    ])
    expect(asked).toBe(3)
    expect(await prove(proof({ nonce: 'e' })), 'its key needs no question').toEqual(KEY_WALLET)
    await made.clock.advance(60_000)
    expect(await prove(proof({ signature: '0x2', nonce: 'd' }))).toMatchObject({ network: TESTNET.id })
  })

  test('that could not be checked is not used up', async () => {
    let away = true
    const made = world(async () => {
      if (away) throw new Error('the RPC is away')
      return true
    })
    const prove = createWalletProofs(made.core)
    await expect(prove(proof())).rejects.toThrow('away')
    away = false
    expect(await prove(proof())).toEqual(KEY_WALLET)
  })
})
