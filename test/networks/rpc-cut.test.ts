import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevAccount, DevChain } from '../../src/testing/index.ts'
import { repetitions } from '../at-length.ts'
import { type RpcProxy, startRpcProxy } from '../e2e/rpc-proxy.ts'
import { eventually } from '../e2e/world.ts'
import {
  access,
  askUntil,
  entryOn,
  flowsOn,
  PRICE,
  type Shop,
  shopEnv,
  signFor,
  startChains,
  startShop,
  termsOf,
  turn,
} from './shop.ts'

const CUT_SECONDS = repetitions({ few: 20, many: 60 })
const BUYERS = 4
/** On the other network in that time, at least. */
const SALES = 6

let chains: DevChain[]
let proxy: RpcProxy
let shop: Shop

beforeAll(async () => {
  chains = await startChains(84532, 421614)
  proxy = await startRpcProxy(chains[1]!.rpcUrl)
  shop = await startShop(
    shopEnv(chains, { [`RPC_URL_${chains[1]!.chainId}`]: proxy.url, SETTLE_WAIT_SECONDS: '5' }),
  )
}, 120_000)
afterAll(async () => {
  await shop?.stop()
  await proxy?.stop()
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
})

const newBody = () => ({ planId: 'basic', requestId: crypto.randomUUID() })

async function offered(): Promise<string[]> {
  return termsOf((await access(shop.url, newBody()))!).accepts.map(({ network }) => network)
}

async function prepare(chain: DevChain): Promise<{ buyer: DevAccount; body: object; header: string }> {
  const buyer = await chain.newBuyer({ micro: PRICE })
  const body = newBody()
  const required = termsOf((await access(shop.url, body))!)
  return { buyer, body, header: await signFor(buyer, entryOn(required, chain)) }
}

async function readiness(): Promise<{ status: number; text: string }> {
  const response = await fetch(`${shop.url}/ready`)
  return { status: response.status, text: await response.text() }
}

test(`the RPC of one chain is cut for ${CUT_SECONDS} s under load: the other sells on, and nothing is lost`, async () => {
  const [working, gone] = [chains[0]!, chains[1]!]
  expect(await offered()).toEqual([working.network, gone.network])
  const inFlight = await Promise.all(Array.from({ length: BUYERS }, () => prepare(gone)))
  const late = await prepare(gone)
  const paying = inFlight.map(({ body, header }) => askUntil(shop.url, body, [200], header))
  await turn(200)
  proxy.cut()
  const cutAt = Date.now()

  await eventually(async () => !(await offered()).includes(gone.network))
  expect(Date.now() - cutAt, 'its offers are gone soon').toBeLessThan(30_000)
  const { status, text } = await readiness()
  expect(status).toBe(200)
  expect(text).toContain(gone.network)
  const refused = (await access(shop.url, late.body, late.header))!
  expect(refused.status, 'a payment there is not claimed').toBe(503)

  let sold = 0
  while (sold < SALES || Date.now() - cutAt < CUT_SECONDS * 1000) {
    const bought = await prepare(working)
    const answer = (await access(shop.url, bought.body, bought.header))!
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    sold += 1
    // More sales would prove no more, and take a whole core from other tests for this minute.
    await turn(500)
  }

  proxy.mend()
  await eventually(async () => (await offered()).includes(gone.network))
  for (const answer of await Promise.all(paying)) expect(answer.status).toBe(200)
  expect((await askUntil(shop.url, late.body, [200], late.header)).status).toBe(200)
  for (const { buyer } of [...inFlight, late]) {
    expect(await flowsOn(gone, buyer)).toEqual({ paid: PRICE, back: 0n })
  }
}, 300_000)
