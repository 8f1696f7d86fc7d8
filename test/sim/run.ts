import { runHistory } from './history.ts'
import { STORMS } from './storms.ts'

const USAGE = `npm run sim -- [--histories N] [--seed S] [--storm 1..${STORMS.length}] [--verbose]`

/** Counters over many histories, so that one can see what was exercised. */
async function main(): Promise<void> {
  // A history makes thousands of errors on purpose, and their stacks are not needed.
  Error.stackTraceLimit = 0
  const options = readOptions(process.argv.slice(2))
  const totals = new Map<string, number>()
  const failing: number[] = []
  const storm = STORMS[options.storm - 1]
  const began = process.hrtime.bigint()
  const beganCpu = process.cpuUsage()
  for (let seed = options.seed; seed < options.seed + options.histories; seed++) {
    const { violations, counters } = await runHistory(seed, { weather: storm?.weather })
    for (const [what, by] of counters) totals.set(what, (totals.get(what) ?? 0) + by)
    if (violations.length === 0) continue
    failing.push(seed)
    if (failing.length > options.show) continue
    // The same seed gives the same history, so the log is made only for those with violations.
    const { log } = await runHistory(seed, { logging: true, weather: storm?.weather })
    if (options.show === 1 || options.verbose) console.error(log.join('\n'))
    console.error(`\nseed ${seed}:\n  ${violations.join('\n  ')}`)
    console.error(
      `  replay: npm run sim -- --seed ${seed} --histories 1${storm ? ` --storm ${options.storm}` : ''}`,
    )
  }
  const seconds = Number(process.hrtime.bigint() - began) / 1e9
  // CPU time, because the machine may be shared.
  const cpuSeconds = process.cpuUsage(beganCpu).user / 1e6
  if (options.storm > 0) console.log(`storm ${options.storm}: ${storm?.name ?? 'unknown'}`)
  console.log(
    [...totals]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, count]) => `${String(count).padStart(9)} ${what}`)
      .join('\n'),
  )
  console.log(
    `${options.histories} histories in ${seconds.toFixed(1)} s (${Math.round(options.histories / seconds)}/s, ` +
      `${Math.round(options.histories / cpuSeconds)} per CPU second), ` +
      `${failing.length} with violations${failing.length > 0 ? `: seeds ${failing.slice(0, 20).join(' ')}` : ''}`,
  )
  process.exitCode = failing.length > 0 ? 1 : 0
}

function readOptions(args: readonly string[]) {
  const options = { histories: 1000, seed: 1, storm: 0, verbose: false, show: 3 }
  for (let index = 0; index < args.length; index++) {
    const name = args[index]
    if (name === '--verbose') options.verbose = true
    else if (name === '--histories' || name === '--seed' || name === '--storm') {
      const value = Number(args[++index])
      if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} takes a whole number. ${USAGE}`)
      options[name.slice(2) as 'histories' | 'seed' | 'storm'] = value
    } else throw new Error(`${name} is not an option. ${USAGE}`)
  }
  if (options.histories === 1) options.show = 1
  return options
}

process.on('unhandledRejection', (error) => {
  console.error('a promise was rejected and nobody noticed:', error)
  process.exitCode = 1
})

await main()
