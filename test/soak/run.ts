import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from '../../src/protocol/hex.ts'
import { createDice } from '../sim/dice.ts'
import { compareBooks } from './books.ts'
import { openWallets, trade, WAY_NAMES } from './buyers.ts'
import { createHands, type Hands } from './deal.ts'
import { type Evidence, readBalances, readLedger, readMovements } from './evidence.ts'
import { startFaults } from './faults.ts'
import { drawGraph } from './graph.ts'
import { growthOf } from './growth.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { startSampling } from './samples.ts'
import { settleDeals, untilQuiet } from './settle.ts'
import { superviseInstances } from './shop.ts'
import { openSite, type Site } from './site.ts'

/** So long the end may take: payments must lapse, refunds land, and webhooks be tried again. A long ledger takes time to read. */
const settleMs = (minutes: number) => (10 + minutes / 10) * 60_000
const BLOCK_SECONDS = 1
const DISAGREEMENT_CHARS = 400

async function soak(options: Options): Promise<boolean> {
  const { minutes, seed = randomInt(1, 0xffff_ffff), store } = options
  console.log(`soak: ${minutes} minutes on ${store}, seed ${seed}`)
  const site = await openSite(options)
  let agree = false
  try {
    agree = await run(site, { ...options, seed })
  } finally {
    await site.stop(options.keep || !agree)
    if (options.keep || !agree) console.log(`what the instances logged: ${site.folder}`)
  }
  return agree
}

async function run(
  site: Site,
  { minutes, seed, buyers, graph }: Options & { seed: number },
): Promise<boolean> {
  const { chain, instances, folder } = site
  const wallets = await openWallets(chain, buyers)
  const before = new Map<Hex, bigint>()
  for (const { address } of wallets) before.set(address.toLowerCase() as Hex, await chain.balanceOf(address))
  await chain.setIntervalMining(BLOCK_SECONDS)
  // The first one makes the tables of the store.
  for (const one of instances) await one.start()

  const hands = createHands()
  const began = Date.now()
  const closing = began + minutes * 60_000
  const dice = createDice(seed)
  const pick = () => dice.pick(instances).origin
  const pickSteady = () => dice.pick(instances.filter((one) => !one.isShifted())).origin
  const wasSteady = (origin: string, sinceMs: number) =>
    instances.some((one) => one.origin === origin && !one.isShifted(sinceMs))
  const isOver = () => Date.now() >= closing
  const sampling = startSampling(site, hands)
  const spared = { since: () => Date.now() > began + (closing - began) / 3 }
  const faults = startFaults(site, seed, spared, (text) => hands.complaints.push(text))
  const supervisor = superviseInstances(instances, faults.isBusy)
  const trading = wallets.map((wallet, index) => {
    const own = { chain, hands, dice: createDice(seed + 1 + index), pick, pickSteady, wasSteady, isOver }
    return trade(own, wallet, `b${index}-${seed}`)
  })
  const telling = tellProgress(hands, began, closing)
  await sleep(closing - Date.now())
  await faults.end()
  await Promise.all(trading)
  await sampling.end()
  await telling

  const calm = Date.now()
  const until = calm + settleMs(minutes)
  await settleDeals(hands, pick, until)
  await untilQuiet(site, until)
  await supervisor.end()
  console.log(`everything was over ${Math.round((Date.now() - calm) / 1000)} s after the last fault`)
  const evidence = await gather(site, hands, before)
  const { samples } = sampling
  const found = [...compareBooks(evidence), ...growthOf(samples, minutes), ...unsoldWays(hands, minutes)]
  const file = graph ?? join(folder, 'soak.svg')
  await writeFile(file, drawGraph({ samples, marks: faults.marks, minutes, seed }))
  for (const line of found) console.log(`DISAGREES: ${line.slice(0, DISAGREEMENT_CHARS)}`)
  summarize({ minutes, seed, evidence, marks: faults.marks, restarts: supervisor.restarts(), found })
  return found.length === 0
}

/** A way that sells nothing proves nothing. */
function unsoldWays({ deals }: Hands, minutes: number): string[] {
  if (minutes < 2) return []
  const sold = new Set(deals.flatMap(({ way, got }) => (got ? [way] : [])))
  return WAY_NAMES.filter((way) => !sold.has(way)).map((way) => `nobody bought by ${way}`)
}

async function tellProgress({ deals }: Hands, began: number, closing: number): Promise<void> {
  while (Date.now() < closing) {
    await sleep(Math.min(30_000, Math.max(0, closing - Date.now())))
    const got = deals.filter((deal) => deal.got).length
    const seconds = Math.round((Date.now() - began) / 1000)
    console.log(`${seconds} s: ${deals.length} purchases, ${got} delivered so far`)
  }
}

async function gather(site: Site, hands: Hands, before: Map<Hex, bigint>): Promise<Evidence> {
  const { chain, receiver, backend } = site
  const seller = chain.account(0).address.toLowerCase() as Hex
  const spent = new Map<Hex, bigint>()
  for (const [wallet, held] of before) spent.set(wallet, held - (await chain.balanceOf(wallet)))
  return {
    ...{ seller, hands, spent },
    chain: await readMovements(chain, seller),
    ledger: await readLedger(site),
    events: receiver.events,
    forged: receiver.forged,
    balances: await readBalances(site, hands),
    charges: backend.charges,
  }
}

function summarize(parts: {
  minutes: number
  seed: number
  evidence: Evidence
  marks: ReadonlyArray<{ lane: string; name: string }>
  restarts: number
  found: readonly string[]
}): void {
  const { minutes, seed, evidence, marks, restarts, found } = parts
  const { deals, accounts } = evidence.hands
  const count = <T>(items: readonly T[], nameOf: (item: T) => string) => {
    const counts = new Map<string, number>()
    for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1)
    return [...counts].sort().map(([name, times]) => `${name} ${times}`)
  }
  console.log(`purchases: ${count(deals, ({ way, end }) => `${way} ${end ?? 'open'}`).join(', ')}`)
  console.log(
    `faults: ${count(marks, ({ lane, name }) => `${lane} ${name}`).join(', ')}; ${restarts} restarts by the supervisor`,
  )
  const ended = (end: string) => deals.filter((deal) => deal.end === end).length
  const calls = [...accounts.values()].reduce((sum, { served }) => sum + served.size, 0)
  console.log(
    `soak: ${minutes} minutes, ${deals.length} purchases, ${ended('delivered')} delivered, ${ended('refunded')} refunded, ` +
      `${ended('unpaid')} unpaid, ${calls} prepaid calls, ${evidence.events.length} webhooks, ${marks.length} faults, ` +
      `seed ${seed}: ${found.length} disagreements`,
  )
}

let options: Options | undefined
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`)
}
process.exitCode = options && (await soak(options)) ? 0 : 1
