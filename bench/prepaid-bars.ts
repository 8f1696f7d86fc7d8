import type { Cell } from './cells.ts'
import { atLeast, atMost, type Bar } from './judge.ts'
import { ratioOf } from './ratio.ts'

/** What is measured of prepaid calls. */
export const PREPAID = {
  bare: 'bare proxy, 64 at once',
  embedded: 'paystile, embedded, 64 at once, 1 account',
  accounts: 'paystile, embedded, 64 at once, 10,000 accounts',
  redis: 'paystile, redis, 64 at once, 1 account',
  postgres: 'paystile, postgres, 64 at once, 1 account',
  bareAlone: 'bare proxy, one at a time',
  embeddedAlone: 'paystile, embedded, one at a time',
} as const

export type PrepaidCells = Record<(typeof PREPAID)[keyof typeof PREPAID], Cell>

/** `peerPerSecond`: what the peer in its kindest form sells, 64 at once. */
export function prepaidBars(cells: PrepaidCells, peerPerSecond: number): Bar[] {
  const bare = cells[PREPAID.bare]
  const embedded = cells[PREPAID.embedded]
  const fine = (name: keyof PrepaidCells) => ({ also: cells[name].failed === 0 })
  const ofBare = (name: keyof PrepaidCells, where: string, least: number, goal?: number) =>
    atLeast(`prepaid calls/s, 64 at once, ${where}, of the bare proxy's`, ratioOf(cells[name], bare), least, {
      ...fine(name),
      ...(goal !== undefined && { goal }),
    })
  return [
    ofBare(PREPAID.embedded, 'embedded store', 0.33, 0.4),
    ofBare(PREPAID.redis, 'Redis', 0.25),
    ofBare(PREPAID.postgres, 'Postgres', 0.2, 0.25),
    atMost(' ms')(
      'a prepaid call, one at a time, p50, more than the bare proxy',
      cells[PREPAID.embeddedAlone].p50Ms - cells[PREPAID.bareAlone].p50Ms,
      1.5,
      fine(PREPAID.embeddedAlone),
    ),
    atLeast(
      'prepaid calls/s with 10,000 accounts, of those with one',
      ratioOf(cells[PREPAID.accounts], embedded),
      0.5,
      { ...fine(PREPAID.accounts), goal: 0.9 },
    ),
    atLeast(
      "prepaid calls/s, against the kindest peer's paid calls",
      embedded.perSecond / peerPerSecond,
      40,
      fine(PREPAID.embedded),
    ),
  ]
}
