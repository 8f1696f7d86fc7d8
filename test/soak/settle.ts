import { setTimeout as sleep } from 'node:timers/promises'
import { sendDeal } from './buyers.ts'
import type { Deal, Hands } from './deal.ts'
import { compareEvents } from './event-book.ts'
import { openWork, readLedger } from './evidence.ts'
import type { Site } from './site.ts'
import { settleCalls } from './ways/credits.ts'

const AT_ONCE = 8
const TOLD_EVERY_MS = 30_000

/**
 * After the storm: every buyer without a decision comes back with the same payment until it has one, and so does everyone
 * who was told that nothing was paid, once: that must still be true.
 */
export async function settleDeals(hands: Hands, pick: () => string, untilMs: number): Promise<void> {
  const queue = hands.deals.filter(({ end }) => end === undefined || end === 'unpaid')
  async function settle(deal: Deal): Promise<void> {
    do {
      const said = await sendDeal({ hands, pick }, deal)
      if (deal.end !== undefined && said.kind !== 'pending') return
      if (said.kind === 'odd') return
      await sleep(1_000)
    } while (Date.now() < untilMs)
  }
  async function work(): Promise<void> {
    for (let deal = queue.shift(); deal; deal = queue.shift()) await settle(deal)
  }
  const telling = setInterval(() => tellOpen(hands), TOLD_EVERY_MS)
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  clearInterval(telling)
  await settleCalls(hands, pick, untilMs)
}

function tellOpen({ deals }: Hands): void {
  const open = deals.filter(({ end }) => end === undefined)
  const [first] = open
  if (first)
    console.log(
      `${open.length} purchases without a decision; ${first.way} heard ${JSON.stringify(first.heard)}`,
    )
}

/** Waits until nothing is under way any more, by the ledger and by what the seller was told. */
export async function untilQuiet(site: Site, untilMs: number): Promise<void> {
  while (Date.now() < untilMs) {
    const ledger = await readLedger(site)
    const { events } = site.receiver
    const missing = compareEvents({ events, forged: [], ledger } as never)
    if (openWork(ledger).length === 0 && missing.length === 0) return
    await sleep(2_000)
  }
}
