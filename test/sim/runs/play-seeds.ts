import { runHistory } from '../history.ts'
import { type Skies, skyOf } from './skies.ts'
import { addHistory, emptyTally, type Failure, type Tally } from './tally.ts'

/** The seeds of a run, or of a part of one. */
export interface Seeds {
  /** The first. */
  from: number
  /** The last. */
  to: number
  skies: Skies
}

/** Plays a history for each seed, one after the other. */
export async function playSeeds(
  { from, to, skies }: Seeds,
  failed: (failure: Failure) => Promise<void> = async () => {},
): Promise<Tally> {
  // A history makes thousands of errors on purpose, and their stacks are not needed.
  Error.stackTraceLimit = 0
  const tally = emptyTally()
  // CPU time, because the machine may be shared.
  const began = process.cpuUsage()
  let seed = from
  const unnoticed = (error: unknown): void => {
    const violations = [`a promise was rejected and nobody noticed: ${error}`]
    tally.failures.push({ seed, ...stormOf(seed, skies), violations })
  }
  process.on('unhandledRejection', unnoticed)
  for (; seed <= to; seed++) {
    const sky = skyOf(seed, skies)
    const before = tally.failures.length
    addHistory(tally, seed, sky, await runHistory(seed, sky.weather && { weather: sky.weather }))
    for (const failure of tally.failures.slice(before)) await failed(failure)
  }
  process.off('unhandledRejection', unnoticed)
  const { user, system } = process.cpuUsage(began)
  tally.cpuSeconds = (user + system) / 1e6
  return tally
}

function stormOf(seed: number, skies: Skies): Pick<Failure, 'storm'> {
  const { storm } = skyOf(seed, skies)
  return storm === undefined ? {} : { storm }
}
