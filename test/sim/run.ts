import { runHistory } from './history.ts'
import { type Options, readOptions, USAGE } from './runs/options.ts'
import { playParts, RunError } from './runs/play-parts.ts'
import { playSeeds } from './runs/play-seeds.ts'
import { printTally, replayOf } from './runs/print-tally.ts'
import { skyOf } from './runs/skies.ts'
import type { Failure } from './runs/tally.ts'

/** Failures whose event log is made; of the others one sees the seeds. */
const SHOWN = 3

/** Plays histories and prints what was exercised; true: no invariant was violated. */
async function main({ histories, seed, skies, verbose, resume, jobs }: Options): Promise<boolean> {
  const began = performance.now()
  const seeds = { from: seed, to: seed + histories - 1, skies }
  let shown = 0
  async function show(failure: Failure): Promise<void> {
    if (++shown > SHOWN) return
    // The same seed gives the same history, so the log is made only for those with violations.
    const { weather } = skyOf(failure.seed, skies)
    const { log } = await runHistory(failure.seed, { logging: true, ...(weather && { weather }) })
    if (histories === 1 || verbose) console.error(log.join('\n'))
    console.error(`\nseed ${failure.seed}:\n  ${failure.violations.join('\n  ')}`)
    console.error(`  replay: ${replayOf(failure)}`)
  }
  const tally = resume === undefined ? await playSeeds(seeds, show) : await playParts(seeds, resume, jobs)
  printTally(tally, seeds, (performance.now() - began) / 1000)
  return tally.failures.length === 0
}

let options: Options | undefined
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`)
}
try {
  process.exitCode = options && (await main(options)) ? 0 : 1
} catch (error) {
  if (!(error instanceof RunError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
