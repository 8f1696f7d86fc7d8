import { createAccounts } from '../../src/engine/credits/accounts.ts'
import { createSpending, type PrepaidCost, type Spender } from '../../src/engine/credits/spend-credits.ts'
import type { CreditRow, Step, Store } from '../../src/ports.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { testCore } from './test-core.ts'

export const PAYER = `0x${'a1'.repeat(20)}`
export const ACCOUNT = `${PAYER}/basic/default`
export const LEASE_MS = 1_000
const DAY_MS = 86_400_000

/** One store that any number of instances share, and what goes wrong with it next. */
export function testBank() {
  const memory = createMemoryStore()
  const clock = createFakeClock()
  const faults: Array<'before' | 'after'> = []
  const steps: Step[] = []
  const reads = { lists: 0 }
  let drawn = 0
  const store: Store = {
    ...memory,
    async list(table, ref) {
      reads.lists++
      return memory.list(table, ref)
    },
    async commit(step) {
      const fault = faults.shift()
      if (fault === 'before') throw new Error('the store is away')
      const result = await memory.commit(step)
      if (result.kind === 'applied') steps.push(step)
      if (fault === 'after') throw new Error('the answer is lost')
      return result
    },
  }

  /** An instance whose clock is off by so much. */
  function instance(skewMs = 0) {
    const skewed = { ...clock, now: () => clock.now() + skewMs }
    const random = { bytes: (length: number) => Buffer.from(String(++drawn).padStart(length, '.')) }
    const { core } = testCore({ store, clock: skewed, random, config: { deliveryLeaseMs: LEASE_MS } })
    const accounts = createAccounts(core)
    const spending = createSpending(core, accounts)
    return {
      core,
      accounts,
      ...spending,
      async reserve(cost: Partial<PrepaidCost> = {}, by: Partial<Spender> = {}) {
        const taken = await spending.take(spenderOf(by), costOf(cost))
        if (taken.kind !== 'reserved') throw new Error(`it is ${taken.kind}`)
        return taken.reservation
      },
      take: (cost: Partial<PrepaidCost> = {}, by: Partial<Spender> = {}) =>
        spending.take(spenderOf(by), costOf(cost)),
    }
  }

  return {
    store,
    clock,
    faults,
    steps,
    reads,
    instance,
    async grant(key: string, more: Partial<CreditRow> = {}) {
      const row: CreditRow = {
        key,
        version: 0,
        ref: ACCOUNT,
        dueAt: clock.now() + 2 * DAY_MS,
        granted: 10,
        spent: 0,
        reserved: [],
        expiresAt: clock.now() + DAY_MS,
        network: null,
        paidOn: 'eip155:84532',
        txHash: '0xab',
        requestId: `request of ${key}`,
        ...more,
      }
      await memory.commit({ puts: [{ table: 'credits', row }] })
    },
    async change(key: string, more: Partial<CreditRow>) {
      const [row] = await memory.get('credits', [key])
      await memory.commit({ puts: [{ table: 'credits', row: { ...row!, ...more } }] })
    },
    async row(key: string): Promise<CreditRow> {
      return (await memory.get('credits', [key]))[0]!
    },
    /** Spent and reserved of each purchase. */
    async books(): Promise<Record<string, [number, number]>> {
      const rows = await memory.list('credits', ACCOUNT)
      const held = ({ reserved }: CreditRow) =>
        reserved.reduce((sum, { credits, lapsed }) => sum + (lapsed ? 0 : credits), 0)
      return Object.fromEntries(rows.map((row) => [row.key, [row.spent, held(row)]]))
    },
  }
}

export type TestBank = ReturnType<typeof testBank>

function spenderOf(by: Partial<Spender>): Spender {
  return { account: PAYER, planId: 'basic', resourceId: 'default', ...by }
}

function costOf(cost: Partial<PrepaidCost>): PrepaidCost {
  return { credits: 1, fingerprint: 'GET /weather', ...cost }
}
