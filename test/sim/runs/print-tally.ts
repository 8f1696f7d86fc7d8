import type { Failure, Tally } from './tally.ts'

/** What the product can do or must survive, and what is counted when a history had it. */
const FEATURES: ReadonlyArray<readonly [feature: string, counted: string]> = [
  ['paid with authorizations of x402', 'signed'],
  ['paid by MPP', 'signed by MPP'],
  ['paid by plain transfers', 'plain transfers'],
  ['paid in several dialects', 'paid in both dialects'],
  ['two chains', 'histories with 2 chains'],
  ['three chains', 'histories with 3 chains'],
  ['a second scheme', 'coupons signed'],
  ['credits spent', 'debits'],
  ['sign-ins', 'sign-ins'],
  ['metered calls offered', 'histories with metered calls'],
  ['metered calls sold', 'metered sales'],
  ['calls of a backend', 'backend calls'],
  ['calls of the seller’s handler', 'handler calls'],
  ['refunds', 'refund transfers'],
  ['webhooks', 'events told'],
  ['several payments in a transaction', 'batches'],
  ['crashes', 'crashes'],
  ['deployments', 'graceful stops'],
  ['a store that lost commits', 'store losses'],
  ['reorganisations', 'reorgs'],
  ['stale nodes', 'stale answers'],
  ['thefts tried', 'thefts tried'],
]

export function printTally(tally: Tally, seeds: { from: number; to: number }, seconds: number): void {
  const { counts, skies, histories, cpuSeconds, failures } = tally
  const columns = (first: string | number, second: string | number): string =>
    `${String(first).padStart(10)} ${String(second).padStart(9)}`
  console.log(`${columns('times', 'histories')} what happened`)
  for (const [what, [times, within]] of Object.entries(counts).sort(byName))
    console.log(`${columns(times, within)} ${what}`)
  console.log('\n histories with')
  for (const [feature, counted] of FEATURES)
    console.log(`${String(counts[counted]?.[1] ?? 0).padStart(10)} ${feature}`)
  console.log('\n histories in')
  for (const [sky, count] of Object.entries(skies).sort(byName))
    console.log(`${String(count).padStart(10)} ${sky}`)
  const failing = failures.map(({ seed }) => seed)
  console.log(
    `\n${histories} histories, seeds ${seeds.from} to ${seeds.to}, in ${seconds.toFixed(1)} s ` +
      `(${(histories / cpuSeconds).toFixed(1)} per CPU second), ` +
      `${failing.length} with violations${failing.length > 0 ? `: seeds ${failing.slice(0, 20).join(' ')}` : ''}`,
  )
}

export function replayOf({ seed, storm }: Pick<Failure, 'seed' | 'storm'>): string {
  return `npm run sim -- --seed ${seed} --histories 1${storm === undefined ? '' : ` --storm ${storm}`}`
}

/** Numbers in names by their value: storm 2 is before storm 10. */
function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a.localeCompare(b, 'en', { numeric: true })
}
