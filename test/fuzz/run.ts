import { runTarget } from './run-target.ts'
import { TARGETS } from './targets.ts'

const NAMES = TARGETS.map(({ name }) => name).join(', ')
const USAGE = `npm run fuzz -- [--inputs N] [--seed S] [--target name] [--path P]; targets: ${NAMES}`

interface Options {
  inputs: number
  seed: number
  target?: string
  path?: string
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  const { seed, target, path } = options
  const chosen = TARGETS.filter(({ name }) => target === undefined || name === target)
  if (chosen.length === 0) throw new Error(`there is no target ${target}. ${USAGE}`)
  const shares = chosen.reduce((sum, { share }) => sum + share, 0)
  let total = 0
  let failures = 0
  for (const one of chosen) {
    const inputs = path === undefined ? Math.ceil((options.inputs * one.share) / shares) : 1
    const run = await runTarget(one, { inputs, seed, path })
    total += run.inputs
    console.log(
      `${run.name.padEnd(15)} ${String(run.inputs).padStart(8)} inputs  ${String(Math.round(run.inputs / run.seconds)).padStart(6)}/s  ` +
        `slowest ${Math.round(run.slowestMs)} ms (${run.suspects} slow once, none every time)  ` +
        `memory ${(run.grownBytes / 1024 ** 2).toFixed(1)} MiB  ${run.failure === undefined ? 'no fault' : 'FAULT'}`,
    )
    const outcomes = [...run.outcomes].sort(([, a], [, b]) => b - a).slice(0, 8)
    console.log(`  ${outcomes.map(([what, count]) => `${count}× ${what}`).join(', ')}`)
    if (run.failure === undefined) continue
    failures++
    console.error(run.failure)
  }
  console.log(`${total} inputs, seed ${seed}, ${failures} targets with a fault`)
  process.exitCode = failures > 0 ? 1 : 0
}

function readOptions(args: readonly string[]): Options {
  const options: Options = { inputs: 20_000, seed: 1 }
  for (let index = 0; index < args.length; index += 2) {
    const [name, value = ''] = args.slice(index, index + 2)
    if (name === '--inputs' || name === '--seed') {
      if (!/^-?\d{1,10}$/.test(value)) throw new Error(`${name} takes a whole number. ${USAGE}`)
      options[name === '--inputs' ? 'inputs' : 'seed'] = Number(value)
    } else if (name === '--target' || name === '--path') {
      options[name === '--target' ? 'target' : 'path'] = value
    } else throw new Error(`${name} is not an option. ${USAGE}`)
  }
  return options
}

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
