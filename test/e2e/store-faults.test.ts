import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { UnavailableError } from '../../src/errors.ts'
import type { Store } from '../../src/ports.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

/** The real store behind a switch. */
let fault: (() => Error) | undefined
const real = createMemoryStore()
const guarded = <A extends unknown[], R>(work: (...args: A) => Promise<R>) => {
  return async (...args: A): Promise<R> => {
    if (fault) throw fault()
    return work(...args)
  }
}
const store: Store = {
  ...real,
  commit: guarded(real.commit),
  get: guarded(real.get) as Store['get'],
  list: guarded(real.list) as Store['list'],
  takeDue: guarded(real.takeDue) as Store['takeDue'],
  audit: guarded(real.audit),
  ping: guarded(real.ping),
}

let world: World
beforeAll(async () => {
  world = await startWorld({ options: { store, secretKey: 's'.repeat(32) } })
})
beforeEach(() => {
  fault = undefined
})
afterAll(async () => {
  fault = undefined
  await world.stop()
})

test.each([
  ['is down', () => new UnavailableError('the store'), 503, 'SETTLEMENT_PENDING'],
  ['has a bug', () => new Error('column "x" of db.internal'), 500, 'INTERNAL_ERROR'],
] as const)(
  'a store that %s before the claim: nothing is sent, and the same payload works later',
  async (_name, makeFault, status, code) => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const books = await world.ledger(buyer)
    const header = await world.sign(buyer, (await world.terms()).accepts[0]!)
    fault = makeFault
    for (const answer of [await world.pay(header), await world.access({ planId: 'basic', requestId: 'x' })]) {
      expect(answer).toMatchObject({
        status,
        body: { type: 'Error', code, retryable: true, httpStatus: status },
      })
      expect(answer.body.message, 'what is inside stays inside').not.toContain('db.internal')
    }
    await eventually(async () => (await fetch(`${world.baseUrl}/ready`)).status === 503)
    expect((await fetch(`${world.baseUrl}/health`)).status).toBe(200)
    expect((await world.access({ planId: 'basic' })).status, 'terms without a requestId need no store').toBe(
      402,
    )
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    fault = undefined
    expect(await world.pay(header)).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  },
)
