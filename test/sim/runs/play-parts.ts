import { type ChildProcess, fork } from 'node:child_process'
import type { Seeds } from './play-seeds.ts'
import { replayOf } from './print-tally.ts'
import { hashOfBuild, openProgress, type Plan, type Progress } from './progress.ts'
import { addTally, emptyTally, type Tally } from './tally.ts'

/** Histories in a part: what a worker loses at most when the run is stopped. */
const PART_SIZE = 500

/**
 * A history leaves much short-lived garbage: with more room for it a run takes a tenth less time. And its code is wide and flat:
 * compiled as soon as Node would, that takes a third of all the work.
 */
const FLAGS = [
  ...['--max-semi-space-size=64', '--min-semi-space-size=32'],
  ...['--interrupt-budget=2000000', '--always-sparkplug'],
]

/** A run cannot go on as it was asked; the message says why. */
export class RunError extends Error {}

/** Plays what is left of a run, with a process per job, and returns the sum of all its parts. */
export async function playParts(seeds: Seeds, file: string, jobs: number): Promise<Tally> {
  const progress = openProgress(file)
  const plan: Plan = { ...seeds, partSize: progress.plan?.partSize ?? PART_SIZE, build: hashOfBuild() }
  if (progress.plan) refuseOther(progress.plan, plan, file)
  else progress.begin(plan)
  const played = new Set(progress.done.map(({ from }) => from))
  const left = partsOf(plan).filter(({ from }) => !played.has(from))
  console.log(
    `${partsOf(plan).length} parts of ${plan.partSize} histories, ${left.length} to play; progress in ${file}`,
  )
  const workers = Array.from({ length: Math.min(jobs, left.length) }, () => playQueue(left, plan, progress))
  await Promise.all(workers)
  const sum = emptyTally()
  const inOrder = [...progress.done].sort((one, other) => one.from - other.from)
  for (const { tally } of inOrder) addTally(sum, tally)
  return sum
}

function refuseOther(begun: Plan, asked: Plan, file: string): void {
  const { build, from, to, skies } = begun
  if (build !== asked.build)
    throw new RunError(
      `${file} was begun with another build (${build}, now ${asked.build}): choose another file`,
    )
  if (from !== asked.from || to !== asked.to || skies !== asked.skies)
    throw new RunError(`${file} is a run of the seeds ${from} to ${to}, storm ${skies}: choose another file`)
}

function partsOf({ from, to, skies, partSize }: Plan): Seeds[] {
  return Array.from({ length: Math.ceil((to - from + 1) / partSize) }, (_, index) => {
    const first = from + index * partSize
    return { from: first, to: Math.min(to, first + partSize - 1), skies }
  })
}

/** One worker takes part after part, until none is left. */
async function playQueue(left: Seeds[], plan: Plan, progress: Progress): Promise<void> {
  const worker = fork(new URL('./worker.js', import.meta.url), { execArgv: FLAGS })
  try {
    for (let part = left.shift(); part; part = left.shift()) {
      const tally = await playPart(worker, part)
      progress.add({ from: part.from, tally })
      tell(plan, progress, tally)
    }
  } finally {
    worker.kill()
  }
}

function playPart(worker: ChildProcess, part: Seeds): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const died = (): void => reject(new Error(`the worker of the seeds ${part.from} to ${part.to} died`))
    worker.once('exit', died)
    worker.once('message', (tally) => {
      worker.off('exit', died)
      resolve(tally as Tally)
    })
    worker.send(part)
  })
}

function tell({ from, to }: Plan, { done }: Progress, { failures }: Tally): void {
  const tallies = done.map(({ tally }) => tally)
  const histories = tallies.reduce((sum, tally) => sum + tally.histories, 0)
  const failing = tallies.reduce((sum, tally) => sum + tally.failures.length, 0)
  console.log(`${histories} of ${to - from + 1} histories, ${failing} with violations`)
  for (const failure of failures)
    console.error(
      `\nseed ${failure.seed}:\n  ${failure.violations.join('\n  ')}\n  replay: ${replayOf(failure)}`,
    )
}
