import type { EngineConfig } from '../../src/engine/core.ts'
import type { Address } from '../../src/protocol/hex.ts'
import { buildCatalog } from '../../src/rules/catalog.ts'
import type { WirePayment } from './buyers/credential.ts'
import { drawCrowd } from './buyers/crowd.ts'
import { type Buyer, chainOf, isUnknown, type Shop, see } from './buyers/shop.ts'
import { firstBlockOf, useOf } from './chain/branch.ts'
import { settlementOf } from './chain/permit2.ts'
import { SimChain } from './chain/sim-chain.ts'
import { closePurchases } from './close-purchases.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { createDice } from './dice.ts'
import type { Instance } from './instance.ts'
import { checkInvariants } from './invariants/check.ts'
import { checkAnswer, checkRefusal } from './invariants/offers.ts'
import { loseCommits } from './lose-commits.ts'
import { NO_MUTATION } from './mutation.ts'
import { drawOutages } from './outages.ts'
import type { Mutation, Outside } from './outside.ts'
import { watchPaidCalls } from './ports/paid-calls.ts'
import { createRecordedStore, type RecordedStore } from './ports/recorded-store.ts'
import { simX402 } from './rails.ts'
import { createScheduler } from './scheduler.ts'
import { ID_KEY } from './secrets.ts'

import { drawWeather, type Storm, sellsMetered, type Weather } from './weather.ts'
import {
  ALONE_GAS,
  createWorld,
  DEARER_PLANS,
  LOST_PER_DAY,
  METERED_ROUTE,
  MICRO_PER_GAS,
  PAY_TO,
  PLANS,
  REFUND_WALLET,
  ROUTES,
  SIM_NETWORKS,
  START_MS,
  STREAMED_ROUTE,
  UNDELIVERED_PER_DAY,
  type World,
} from './world.ts'

/** After the faults, all work must end within this time. */
const REST_MS = 4 * 3_600_000
/** At the end of that time nothing should ask the chain for this long. */
const QUIET_MS = 35_000
/** The longest validity of payments that buyers sign. */
const LONGEST_VALIDITY_MS = 900_000
const ETHER = 10n ** 18n

export interface HistoryOptions {
  logging?: boolean
  mutation?: Partial<Mutation>
  weather?: Storm
}

export interface History {
  violations: string[]
  counters: Map<string, number>
  log: string[]
}

/** One history: everything in it is determined by the seed. */
export async function runHistory(seed: number, options: HistoryOptions = {}): Promise<History> {
  const dice = createDice(seed)
  const scheduler = createScheduler(START_MS)
  const extraDice = createDice(seed + 0x7fa7e)
  const mppDice = createDice(seed + 0x3bb00)
  const creditDice = createDice(seed + 0xc4ed1)
  const eventDice = createDice(seed + 0xe7e47)
  const meterDice = createDice(seed + 0x3e7e4)
  const streamDice = createDice(seed + 0x57ea3)
  const sendDice = createDice(seed + 0x5e4d5)
  const streams = { dice, extraDice, mppDice, creditDice, eventDice, meterDice, streamDice, sendDice }
  const drawn = drawWeather(streams)
  const weather = { ...drawn, ...options.weather, config: { ...drawn.config, ...options.weather?.config } }
  const world = createWorld(streams, scheduler, weather, options.logging ?? false)
  const mutation = { ...NO_MUTATION, ...options.mutation }
  const crowd = drawCrowd(world)
  const refundFunds = weather.refunds === 'poor' ? BigInt(dice.int(0, 2_000_000)) : 1_000_000_000n
  const initial = new Map<Address, bigint>([...crowd.tokens, [REFUND_WALLET, refundFunds]])
  const chains = SIM_NETWORKS.slice(0, weather.chains).map((network, index) => {
    const isLast = index === weather.chains - 1
    return new SimChain(world, {
      network,
      token: { chainId: network.chainId, initial, codes: crowd.codes, allowances: crowd.allowances },
      scheme: index > 0 && isLast && weather.coupons ? 'coupon' : 'exact',
      firstBlock: firstBlockOf(index),
      blockMs: index === 0 ? weather.blockMs : extraDice.pick([1_000, 2_000, 4_000, 8_000]),
      reorgs: index === 0 || weather.reorg > 0.06 ? weather.reorg : extraDice.pick([0, 0, 0.02, 0.06]),
    })
  })
  if (chains.length > 1) world.count(`histories with ${chains.length} chains`)
  if (sellsMetered(weather)) world.count('histories with metered calls')
  const recorded = createRecordedStore(world, mutation.store)
  const outside: Outside = {
    world,
    x402: simX402(chains, weather),
    chains,
    store: recorded.store,
    issuer: { calls: new Map() },
    signatures: { made: 0 },
    signed: recorded.signed,
    credits: recorded.credits,
    meter: recorded.meter,
    paidCalls: watchPaidCalls(world, recorded),
    staleLooks: new Set(),
    config: configOf(weather),
    mutation,
    outages: drawOutages(world, chains),
    told: new Set(),
    arrived: [],
    refusedRefunds: new Set(),
    alerts: [],
    chainCalls: 0,
  }
  world.note('history', () => JSON.stringify(weather))
  for (const chain of chains) {
    fundRefunds(world, chain)
    keepMining(world, chain)
  }
  const cluster = startCluster(outside)
  const shop: Shop = {
    world,
    chains,
    ask: (intent) => overTheNetwork(world, cluster.pick, (instance) => instance.ask(intent)),
    spend: (call) => overTheNetwork(world, cluster.pick, (instance) => instance.spend(call)),
    downFor: outside.outages.downFor,
    sentAt: new Map(),
    async judge(payment, sentAgoMs, reply) {
      checkAnswer(outside, payment, sentAgoMs, reply)
      await checkRefusal(outside, recorded, payment, reply)
    },
    cancel: (challengeId, offered) =>
      overTheNetwork(world, cluster.pick, (instance) => instance.cancel(challengeId, offered)),
  }
  crowd.begin(shop)
  loseCommits(world, recorded, cluster)
  closePurchases(world, recorded)
  if (weather.dearerAfterMs !== null) {
    scheduler.after(weather.dearerAfterMs, () => void raisePrices(outside), true)
  }

  const end = START_MS + weather.horizonMs
  await scheduler.run(() => scheduler.now() >= end)
  calmDown(outside, cluster)
  // An instance that knows a payment that the store lost looks for it as long as it is valid.
  const patient = weather.losses > 0 ? end + LONGEST_VALIDITY_MS : end
  const rested = (): boolean =>
    crowd.buyers.every(({ done }) => done) && !recorded.isBusy() && scheduler.now() >= patient
  await rest(outside, rested)
  await retryFailedRefunds(outside, initial, recorded, cluster)
  await resendAll(shop, crowd.buyers)
  await rest(outside, rested)
  await checkSales(world, cluster)
  const instances = cluster.alive()
  await checkInvariants({ world, chains, recorded, buyers: crowd.buyers, outside, instances })
  return { violations: world.violations, counters: world.counters, log: world.log }
}

function configOf(weather: Weather): EngineConfig {
  return {
    ...weather.config,
    baseUrl: 'http://gateway',
    catalog: buildCatalog(PLANS, routesIn(weather)),
    idKeys: [{ id: 1, key: ID_KEY }],
    refundMinAgeMs: 10_000,
    refundMaxAttempts: 5,
    payerFailuresPerMinute: 0,
    payerUndeliveredPerDay: UNDELIVERED_PER_DAY,
    lostGasPerDay: {
      perPayer: LOST_PER_DAY * ALONE_GAS * MICRO_PER_GAS,
      inAll: 1_000 * ALONE_GAS * MICRO_PER_GAS,
    },
    maxGasShare: 0.5,
  }
}

/** Raises the price of new challenges; open ones keep theirs. */
function raisePrices({ world, config }: Outside): void {
  world.count('prices raised')
  config.catalog = buildCatalog(DEARER_PLANS, routesIn(world.weather))
}

async function overTheNetwork<T>(
  world: World,
  pick: () => Instance | undefined,
  request: (instance: Instance) => Promise<T>,
): Promise<T | 'broken'> {
  const { dice, scheduler, weather } = world
  if (!world.calm) await scheduler.sleep(dice.skewed(1, weather.maxLatencyMs))
  const instance = pick()
  if (!instance) return 'broken'
  const reply = await request(instance)
  if (world.calm) return reply
  await scheduler.sleep(dice.skewed(1, weather.maxLatencyMs))
  return dice.chance(weather.lostAnswer) ? 'broken' : reply
}

/** The wallet that refunds; gas wallets are part of the outages. */
function fundRefunds({ extraDice, scheduler, weather }: World, chain: SimChain): void {
  const { refundEther, refunds } = weather
  const refunder = refunds === 'seller' ? PAY_TO : REFUND_WALLET
  // A wallet without an entry stays without ETH when the faults are over.
  if (refundEther !== 'none') chain.ether.set(refunder, refundEther === 'some' ? ETHER : 0n)
  if (refundEther === 'late') {
    scheduler.after(extraDice.int(0, weather.horizonMs), () => chain.ether.set(refunder, ETHER), true)
  }
}

function keepMining(world: World, chain: SimChain): void {
  const { dice, scheduler, weather } = world
  scheduler.after(
    world.calm ? 10_000 : chain.blockMs,
    () => {
      if (world.calm) chain.baseFee = 10_000_000n
      else {
        if (weather.feeSpikes && dice.chance(0.1))
          chain.baseFee = BigInt(dice.pick([1, 3, 40, 200])) * 10_000_000n
        if (dice.chance(chain.reorgs)) chain.reorg(dice.int(1, weather.maxReorgDepth))
      }
      chain.mine()
      keepMining(world, chain)
    },
    true,
  )
}

function calmDown({ world, chains, config }: Outside, cluster: Cluster): void {
  world.note('history', () => 'the faults are over')
  world.calm = true
  config.jobIntervalMs = 30_000
  config.pollIntervalMs = 10_000
  for (const { ether } of chains) for (const wallet of ether.keys()) ether.set(wallet, 10n * ETHER)
  cluster.reviveAll()
}

/** Runs until nothing is left to do, and a little longer to see that nothing starts again. */
async function rest(outside: Outside, rested: () => boolean): Promise<void> {
  const { world } = outside
  const { scheduler } = world
  const latest = scheduler.now() + REST_MS
  await scheduler.run(() => rested() || scheduler.now() >= latest)
  const until = scheduler.now() + 60_000
  await scheduler.run(() => scheduler.now() >= until - QUIET_MS)
  const before = outside.chainCalls
  await scheduler.run(() => scheduler.now() >= until)
  const asked = outside.chainCalls - before
  if (asked > 0 && rested()) world.violate('I10', `the chain is asked ${asked} times for nothing`)
}

/** The operator funds the wallet and retries some of the failed refunds. */
async function retryFailedRefunds(
  { world }: Outside,
  tokens: Map<Address, bigint>,
  recorded: RecordedStore,
  cluster: Cluster,
): Promise<void> {
  const failed = (await recorded.readAll('challenges')).filter(({ state }) => state === 'REFUND_FAILED')
  if (failed.length === 0) return
  tokens.set(REFUND_WALLET, 1_000_000_000n)
  for (const { key } of failed) {
    if (!world.dice.chance(0.7)) continue
    world.count('refunds retried')
    await cluster.pick()!.retryRefund(key)
  }
}

/** I12: whatever the nodes showed before, every instance sells again. */
async function checkSales(world: World, cluster: Cluster): Promise<void> {
  const { scheduler, weather } = world
  let left = 0
  for (const instance of cluster.alive()) {
    left++
    void (async () => {
      let reason: unknown
      for (let turn = 0; turn < 10 && reason !== 'none'; turn++) {
        reason = await instance.ready().then(
          () => 'none',
          (cause: unknown) => cause,
        )
      }
      if (reason !== 'none') world.violate('I12', `${instance.name} no longer sells: ${reason}`)
      const rails = instance.offeredRails()
      if (rails !== weather.chains)
        world.violate('I14', `${instance.name} offers ${rails} of ${weather.chains} rails, and all work`)
      left--
    })()
  }
  const latest = scheduler.now() + REST_MS
  await scheduler.run(() => left === 0 || scheduler.now() >= latest)
}

function routesIn(weather: Weather) {
  if (!sellsMetered(weather)) return ROUTES
  return [...ROUTES, weather.streams ? STREAMED_ROUTE : METERED_ROUTE]
}

function isUsed(chain: SimChain, { permit, payload }: WirePayment): boolean {
  const { from: payer, nonce } = payload.authorization
  return permit
    ? settlementOf(chain.head(), permit) !== undefined
    : useOf(chain.head(), { payer, nonce }) !== undefined
}

/** Every buyer sends its payments once more: a buyer that was charged must get what it bought. */
async function resendAll(shop: Shop, buyers: readonly Buyer[]): Promise<void> {
  let left = 0
  for (const buyer of buyers.filter(({ honest }) => honest)) {
    left++
    void (async () => {
      for (const { intent, payment } of buyer.payments) {
        if (!isUsed(chainOf(shop, payment), payment)) continue
        for (let turn = 0; turn < 100; turn++) {
          const reply = see(shop, buyer, 'once more', await shop.ask(intent))
          if (!isUnknown(reply)) break
          await shop.world.scheduler.sleep(10_000)
        }
      }
      left--
    })()
  }
  const latest = shop.world.scheduler.now() + REST_MS
  await shop.world.scheduler.run(() => left === 0 || shop.world.scheduler.now() >= latest)
}
