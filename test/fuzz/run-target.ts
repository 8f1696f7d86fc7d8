import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { fault, type OpenTarget, type Target } from './target.ts'

const SLOW_MS = 50
/** A wait that no work explains, such as a timer: even a machine that others use too is not that slow every time. */
const STUCK_MS = 1000
/** A fault of ours is slow every time. What others do to the processor, or a collection of garbage, ends some time. */
const LONE_TRIES = 12
const REST_MS = 50
const ROUND = 5000
const MAX_GROWTH_BYTES = 48 * 1024 * 1024

export interface Run {
  name: string
  inputs: number
  seconds: number
  /** Of single inputs, as they came. */
  slowestMs: number
  /** Inputs that were slow at first and not alone. */
  suspects: number
  grownBytes: number
  /** What the inputs came to, and how often. */
  outcomes: Map<string, number>
  failure?: string
}

/** Feeds a target with inputs; stops at the first that it does not stand, and makes that one small. */
export async function runTarget(
  target: Target,
  { inputs, seed, path }: { inputs: number; seed: number; path?: string | undefined },
): Promise<Run> {
  const open = await target.open()
  const run: Run = {
    name: target.name,
    inputs: 0,
    seconds: 0,
    slowestMs: 0,
    suspects: 0,
    grownBytes: 0,
    outcomes: new Map(),
  }
  let rejected: unknown
  const onRejection = (reason: unknown) => {
    rejected ??= reason ?? 'nothing'
  }
  process.on('unhandledRejection', onRejection)
  const began = performance.now()
  let heap: number | undefined
  try {
    const property = fc.asyncProperty(open.inputs, async (input) => {
      await timed(open, input, run)
      const lost = rejected
      // Each is reported once, or every smaller input would be blamed for it.
      rejected = undefined
      if (lost !== undefined) fault(`an unhandled rejection: ${String(lost)}`)
    })
    for (let round = 0; run.inputs < inputs && run.failure === undefined; round++) {
      // Rounds have seeds of their own: the runner keeps nothing of the ones before.
      const roundSeed = path === undefined ? seed + round : seed
      const details = await fc.check(property, {
        seed: roundSeed,
        numRuns: Math.min(ROUND, inputs - run.inputs),
        ...(path !== undefined && { path }),
      })
      run.inputs += Math.max(1, details.numRuns)
      if (details.failed) run.failure = describe(target.name, details, roundSeed)
      // The first round fills caches; what grows after it is a leak.
      heap ??= heapBytes()
    }
    run.grownBytes = heapBytes() - (heap ?? 0)
    if (run.grownBytes > MAX_GROWTH_BYTES && run.failure === undefined)
      run.failure = `${target.name}: memory grew by ${Math.round(run.grownBytes / 1024 ** 2)} MiB`
  } finally {
    run.seconds = (performance.now() - began) / 1000
    await open.close?.()
    process.off('unhandledRejection', onRejection)
  }
  return run
}

async function timed(open: OpenTarget<unknown>, input: unknown, run: Run): Promise<void> {
  const first = await measure(open, input)
  run.outcomes.set(first.outcome, (run.outcomes.get(first.outcome) ?? 0) + 1)
  run.slowestMs = Math.max(run.slowestMs, first.ms)
  if (first.ms <= SLOW_MS) return
  run.suspects++
  const tries: number[] = []
  while (tries.length < LONE_TRIES) {
    const { ms, cpuMs } = await measure(open, input)
    // Time in which other programs had the processor is not this input's.
    const own = ms > STUCK_MS ? ms : Math.min(ms, cpuMs)
    if (own <= SLOW_MS) return
    tries.push(own)
    await sleep(REST_MS * tries.length)
  }
  fault(`slow: ${tries.map((ms) => `${Math.round(ms)} ms`).join(', ')} alone`)
}

async function measure(
  open: OpenTarget<unknown>,
  input: unknown,
): Promise<{ ms: number; cpuMs: number; outcome: string }> {
  const cpu = process.cpuUsage()
  const began = performance.now()
  const outcome = await open.check(input)
  const { user, system } = process.cpuUsage(cpu)
  return { ms: performance.now() - began, cpuMs: (user + system) / 1000, outcome }
}

function describe(name: string, details: fc.RunDetails<[unknown]>, seed: number): string {
  const { counterexample, counterexamplePath, errorInstance, numShrinks } = details
  const error = errorInstance instanceof Error ? errorInstance : new Error(String(errorInstance))
  const shown = fc.stringify(counterexample?.[0])
  return [
    `${name}: ${error.message}`,
    `  input, made smaller ${numShrinks} times: ${shown.length > 2000 ? `${shown.slice(0, 2000)}…` : shown}`,
    `  replay: npm run fuzz -- --target ${name} --seed ${seed} --path "${counterexamplePath}"`,
    ...(error.stack?.split('\n').slice(1, 5) ?? []),
  ].join('\n')
}

/** The memory in use after garbage collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
