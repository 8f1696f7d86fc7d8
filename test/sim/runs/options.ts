import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { STORMS } from '../storms.ts'
import type { Skies } from './skies.ts'

export const USAGE = `npm run sim -- [--histories N] [--seed S] [--storm 1..${STORMS.length}|all] [--verbose]
               [--resume FILE] [--jobs J]

  --histories  how many (default 1000)
  --seed       of the first; the others follow (default 1)
  --storm      one of the fixed weathers, or every second history in each of them by turns; default: drawn weather
  --verbose    prints the event log of every violation
  --resume     plays in parts, on every core, and goes on where this file ends; begins it if there is none
  --jobs       processes of a run in parts (default: one per core)`

export interface Options {
  histories: number
  seed: number
  skies: Skies
  verbose: boolean
  /** The file of a run in parts. */
  resume: string | undefined
  jobs: number
}

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      histories: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      storm: { type: 'string', default: '0' },
      verbose: { type: 'boolean', default: false },
      resume: { type: 'string' },
      jobs: { type: 'string', default: String(availableParallelism()) },
    },
  })
  return {
    histories: wholeNumber('histories', values.histories, 1),
    seed: wholeNumber('seed', values.seed, 0),
    skies: readSkies(values.storm),
    verbose: values.verbose,
    resume: values.resume,
    jobs: wholeNumber('jobs', values.jobs, 1),
  }
}

function readSkies(text: string): Skies {
  if (text === 'all') return 'all'
  const storm = wholeNumber('storm', text, 0)
  if (storm > STORMS.length) throw new Error(`--storm is ${storm}; there are storms 1 to ${STORMS.length}`)
  return storm === 0 ? 'drawn' : storm
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < least || value > 0xffff_ffff)
    throw new Error(`--${name} is ${text}; expected a whole number from ${least}`)
  return value
}
