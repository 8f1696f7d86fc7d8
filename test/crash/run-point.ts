import type { GatewayOptions } from '../../src/config/options.ts'
import type { Address } from '../../src/protocol/hex.ts'
import { walletRef } from '../../src/settlement/gas-lane.ts'
import { freePort } from '../../src/testing/free-port.ts'
import { type DevAccount, usdcAbi } from '../../src/testing/index.ts'
import type { Bought, Shop } from './buyer.ts'
import { type Evidence, openWork, violationsOf } from './check-point.ts'
import { marksOf, type Point } from './points.ts'
import { PLANS, SCENARIOS, type Scenario } from './scenarios.ts'
import type { Site, StoreServers } from './site.ts'
import { type Books, superviseGateway } from './supervised-gateway.ts'

/** A point that takes longer hangs. Far beyond what a loaded machine needs. */
const LIMIT_MS = 180_000
/** Nothing that is under way may need more of the chain's time than this. */
const LIMIT_CHAIN_SECONDS = 4 * 3600
/** Looks after that, a tenth of a second apart. */
const PATIENCE = 300
const LATE_BLOCK_MS = 150
/** While buyers wait: their signatures must outlive every lease. */
const PATIENT_SECONDS = 600

export interface PointResult {
  /** How often the gateway was killed. 0: the effect was never reached. */
  deaths: number
  violations: string[]
  ms: number
  /** See Trigger. */
  reached: Map<string, number>
  /** Of each life, if a promise was broken. */
  logs: string[]
}

/** Plays one point from a fresh store to quiescence, and checks every promise. */
export async function runPoint(site: Site, servers: StoreServers, point: Point): Promise<PointResult> {
  const began = performance.now()
  const scenario = SCENARIOS[point.scenario]
  if (!scenario)
    throw new Error(`there is no scenario ${point.scenario}: ${Object.keys(SCENARIOS).join(', ')}`)
  const store = await servers.fresh(point.store, site.lane)
  const { chain } = site
  const seller = chain.account(0)
  const gasWallet = chain.account(1)
  const refundWallet = chain.account(2)
  const gasWalletRef = walletRef(chain.chainId, gasWallet.address.toLowerCase() as Address)
  const buyers = await Promise.all(
    // Twice the price: a second charge would show.
    Array.from({ length: scenario.buyers }, () => chain.newBuyer({ micro: 2n * scenario.price })),
  )
  if (!scenario.sellerWorks) await chain.mint(refundWallet.address, 2n * scenario.price)
  const port = await freePort()
  const options: GatewayOptions = {
    walletAddress: seller.address,
    baseUrl: `http://127.0.0.1:${port}`,
    rpcUrl: site.rpcUrl,
    plans: PLANS,
    ...(point.strategy === 'facilitator'
      ? { facilitatorUrl: site.facilitatorUrl }
      : { gasWalletPrivateKey: gasWallet.privateKey }),
    refundWalletPrivateKey: refundWallet.privateKey,
    secretKey: 'one secret for every life of this gateway',
    a2a: false,
    documents: false,
    pollIntervalMs: 25,
    rateLimitPerMinute: 0,
    ...scenario.options(site),
    ...store.options,
  }
  await site.advance(1)
  const over = new AbortController()
  const gateway = await superviseGateway(
    { port, options, walletRefs: [gasWalletRef], offsetMs: site.offsetMs() },
    marksOf(point),
    point.effect === '',
  )
  site.use({ reach: gateway.trigger.reach, sellerWorks: scenario.sellerWorks })
  const limit = setTimeout(() => over.abort(new Error('it hangs')), LIMIT_MS)
  const shop: Shop = { site, gateway, challengeIds: new Set(), signal: over.signal }
  const violations: string[] = []
  try {
    const wallets = { seller, refundWallet, buyers }
    const evidence = await Promise.race([play(shop, scenario, point, wallets), gateway.failure])
    violations.push(...violationsOf(evidence))
  } catch (error) {
    const books = await gateway.books(shop.challengeIds).catch(() => undefined)
    violations.push(
      over.signal.aborted ? 'it hangs' : String(error instanceof Error ? (error.stack ?? error) : error),
      ...(books ? openWork(books) : []),
    )
  } finally {
    clearTimeout(limit)
    over.abort()
    site.use(undefined)
    await gateway.stop()
    if (scenario.slowBlocks) await chain.setAutomine(true)
    await store.remove()
  }
  return {
    deaths: gateway.deaths(),
    violations,
    ms: Math.round(performance.now() - began),
    reached: gateway.trigger.reached,
    logs: violations.length > 0 ? gateway.logs() : [],
  }
}

interface Wallets {
  seller: DevAccount
  refundWallet: DevAccount
  buyers: readonly DevAccount[]
}

/** Buyers buy, whatever dies meanwhile; then time passes until nothing is left to do. */
async function play(shop: Shop, scenario: Scenario, point: Point, wallets: Wallets): Promise<Evidence> {
  const { site, gateway, signal } = shop
  const { seller, refundWallet, buyers } = wallets
  const { chain } = site
  const balances = () =>
    Promise.all([seller, refundWallet, ...buyers].map(({ address }) => chain.balanceOf(address)))
  const before = await balances()
  const fromBlock = await chain.client.getBlockNumber()

  if (scenario.slowBlocks) await chain.setAutomine(false)
  let bought: Bought[] | undefined
  const buying = Promise.all(
    buyers.map((buyer, index) => scenario.buy(shop, buyer, `${point.scenario}-${index}`)),
  ).then((all) => {
    bought = all
    return all
  })
  buying.catch(() => {})
  // Only a crash leaves anything to wait for.
  const crashed = until(signal, async () => {
    if (scenario.slowBlocks) await mineLate(shop)
    return bought !== undefined || gateway.deaths() > 0
  })
  const waiting = crashed.then(() => passTime(shop, PATIENT_SECONDS, () => bought !== undefined))
  await Promise.race([buying, waiting])
  const done = await buying
  let books: Books | undefined
  await passTime(shop, LIMIT_CHAIN_SECONDS, async () => {
    books = await gateway.books(shop.challengeIds)
    return books !== undefined && openWork(books).length === 0
  })
  signal.throwIfAborted()
  gateway.trigger.disarm()
  const again = await Promise.all(done.map((one) => one.again()))
  const robbed = await done[0]!.robbed()
  books = await settled(shop)
  const after = await balances()
  const [sellerGain = 0n, refundWalletGain = 0n, ...gains] = after.map((now, index) => now - before[index]!)
  const transfers = await transfersSince(shop, fromBlock)
  const between = (from: DevAccount, to: DevAccount) =>
    transfers.filter((one) => same(one.from, from) && same(one.to, to)).map(({ value }) => value)
  return {
    scenario,
    books,
    due: (await gateway.due()) ?? [],
    told: gateway.told,
    buyers: buyers.map((buyer, index) => ({
      buyer,
      bought: done[index]!,
      again: again[index]!,
      flows: {
        paid: between(buyer, seller),
        refunded: between(refundWallet, buyer),
        gain: gains[index]!,
      },
    })),
    sellerGain,
    refundWalletGain,
    robbed,
  }
}

const same = (address: string, account: DevAccount) => address.toLowerCase() === account.address.toLowerCase()

const pause = (ms: number) => new Promise((turn) => setTimeout(turn, ms))

async function until(signal: AbortSignal, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    signal.throwIfAborted()
    await pause(10)
  }
}

/** After a crash it is time that mines: see passTime. */
async function mineLate({ site: { chain }, gateway }: Shop): Promise<void> {
  const { pending } = (await chain.client.request({ method: 'txpool_status' } as never)) as {
    pending: string
  }
  if (Number(pending) === 0) return
  await pause(LATE_BLOCK_MS)
  if (gateway.deaths() === 0) await chain.mine(1)
}

/** A kill that was late may have come only now. */
async function settled({ gateway, challengeIds }: Shop): Promise<Books> {
  for (;;) {
    const books = await gateway.books(challengeIds)
    if (books) return books
    await pause(20)
  }
}

/** Lets the chain's and the gateway's time pass, with a pass of the jobs at each step, until `done` or the limit. */
async function passTime(
  { site, gateway, signal }: Shop,
  limitSeconds: number,
  done: () => boolean | Promise<boolean>,
): Promise<void> {
  let passed = 0
  let idle = 0
  for (let step = 1; !(await done()); step = Math.min(step * 1.3, 60)) {
    signal.throwIfAborted()
    await gateway.tick()
    const seconds = Math.min(Math.floor(step), limitSeconds - passed)
    if (seconds > 0) {
      passed += seconds
      await site.advance(seconds)
      gateway.setClock(site.offsetMs())
    }
    // With no time left to pass it can only be the machine that is slow.
    else if (++idle > PATIENCE) throw new Error(`not done after ${limitSeconds} s of the chain's time`)
    await pause(seconds > 0 ? 10 : 100)
  }
}

async function transfersSince({ site: { chain } }: Shop, fromBlock: bigint) {
  const logs = await chain.client.getContractEvents({
    address: chain.usdc,
    abi: usdcAbi,
    eventName: 'Transfer',
    fromBlock,
    strict: true,
  })
  return logs.map(({ args }) => args)
}
