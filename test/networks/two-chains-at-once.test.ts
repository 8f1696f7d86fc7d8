import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevAccount, DevChain } from '../../src/testing/index.ts'
import { startPostgres } from '../../src/testing/postgres-server.ts'
import { startRedis } from '../../src/testing/redis-server.ts'
import { repetitions } from '../at-length.ts'
import { eventually } from '../e2e/world.ts'
import {
  askUntil,
  entryOn,
  flowsOf,
  PRICE,
  type Shop,
  shopEnv,
  signFor,
  startChains,
  startShop,
  termsOf,
} from './shop.ts'

const PURCHASES = repetitions({ few: 9, many: 100 })
const AT_ONCE = 10
/** Spread over the purchases, so that each meets others in flight. By the clock, a slow machine would do little but start. */
const KILLS = repetitions({ few: 2, many: 7 })

const stores = [
  ['embedded', undefined, undefined],
  ['Postgres', 'DATABASE_URL', startPostgres],
  ['Redis', 'REDIS_URL', startRedis],
] as const

let chains: DevChain[]
beforeAll(async () => {
  chains = await startChains(84532, 421614)
})
afterAll(() => Promise.all((chains ?? []).map((chain) => chain.stop())))

/** One after another: a local chain does not take hundreds of connections at once. */
async function balancesOf(chain: DevChain, accounts: readonly DevAccount[]): Promise<bigint[]> {
  const balances: bigint[] = []
  for (const { address } of accounts) balances.push(await chain.balanceOf(address))
  return balances
}

/** Those who do not have exactly one price left on both chains together. */
async function withoutOnePrice(buyers: readonly DevAccount[]): Promise<DevAccount[]> {
  const left = await Promise.all(chains.map((chain) => balancesOf(chain, buyers)))
  return buyers.filter((_, index) => left[0]![index]! + left[1]![index]! !== PRICE)
}

describe.each(stores)(
  'one challenge paid on two chains at once, on the store %s',
  (_name, variable, start) => {
    let server: { url: string; stop(): Promise<unknown> } | undefined
    let shop: Shop

    beforeAll(async () => {
      server = await start?.()
      shop = await startShop(shopEnv(chains, server && variable ? { [variable]: server.url } : {}))
    }, 120_000)
    afterAll(async () => {
      await shop?.stop()
      await server?.stop()
    })

    async function richOnBoth(): Promise<DevAccount> {
      const buyer = await chains[0]!.newBuyer({ micro: PRICE })
      await chains[1]!.mint(buyer.address, PRICE)
      return buyer
    }

    /** Signs the same challenge for both chains, and sends both until both have what was bought. */
    async function buyTwice(buyer: DevAccount, requestId: string): Promise<void> {
      const body = { planId: 'basic', requestId }
      const required = termsOf(await askUntil(shop.url, body, [402]))
      const headers = await Promise.all(chains.map((chain) => signFor(buyer, entryOn(required, chain))))
      const granted = await Promise.all(headers.map((header) => askUntil(shop.url, body, [200], header)))
      expect(new Set(granted.map((answer) => answer.body.txHash)).size, 'both have the same purchase').toBe(1)
    }

    test(`${PURCHASES} times, with kill -9 in between: one charge each`, async () => {
      const buyers: DevAccount[] = []
      for (let index = 0; index < PURCHASES; index++) buyers.push(await richOnBoth())
      let bought = 0
      const killing = (async () => {
        for (let kills = 1; kills <= KILLS; kills++) {
          await eventually(() => bought >= (kills * PURCHASES) / (KILLS + 1))
          await shop.kill()
        }
      })()
      const waiting = buyers.map((buyer, index) => ({
        buyer,
        requestId: `both-${index}-${crypto.randomUUID()}`,
      }))
      const work = async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          await buyTwice(next.buyer, next.requestId)
          bought += 1
        }
      }
      await Promise.all([killing, ...Array.from({ length: AT_ONCE }, work)])
      // What was paid on the second chain all the same goes back there, once its block is final: of two prices, one is left.
      let unsettled = buyers
      await eventually(async () => {
        await Promise.all(chains.map((chain) => chain.mine(1)))
        unsettled = await withoutOnePrice(unsettled)
        // In the end all of them at once.
        if (unsettled.length === 0) unsettled = await withoutOnePrice(buyers)
        return unsettled.length === 0
      })
      for (const chain of chains) {
        for (const { paid, back } of await flowsOf(chain, buyers)) {
          expect([0n, PRICE]).toContain(paid)
          expect(back, 'nothing goes back where nothing was paid').toBeLessThanOrEqual(paid)
        }
      }
    }, 600_000)
  },
)
