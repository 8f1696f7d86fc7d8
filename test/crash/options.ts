import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Point, parseId, STORES } from './points.ts'
import type { StoreName } from './site.ts'

export const USAGE = `npm run crash -- [--points N] [--seed S] [--store ${STORES.join('|')}] [--jobs J]
                 [--resume FILE] [--part i/n]
npm run crash -- --only POINT [--only POINT …]

  --points  crashes to make (default 30), the stores by turns
  --seed    draws the same points again; default: a new one each time
  --resume  goes on where this file ends; begins it if there is none. Its first line is the plan
  --part    the i-th of n shares of one run: each has a file of its own, with the same first line
  --jobs    points at the same time (default: one per core, at most two)
  --only    plays exactly this point, as a failure names it`

export interface Options {
  points: number | undefined
  seed: number | undefined
  stores: StoreName[] | undefined
  jobs: number
  file: string
  part: { index: number; of: number }
  only: Point[]
}

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      points: { type: 'string' },
      seed: { type: 'string' },
      store: { type: 'string', multiple: true },
      jobs: { type: 'string' },
      resume: { type: 'string' },
      part: { type: 'string', default: '1/1' },
      only: { type: 'string', multiple: true, default: [] },
    },
  })
  const unknown = values.store?.find((name) => !STORES.some((store) => store === name))
  if (unknown !== undefined) throw new Error(`--store is ${unknown}; it can be ${STORES.join(', ')}`)
  const [, index, of] = (/^(\d+)\/(\d+)$/.exec(values.part) ?? []).map(Number)
  if (!index || !of || index > of) throw new Error(`--part is ${values.part}; it is i/n, for example 2/3`)
  const most = 2 * cpus().length
  const jobs = wholeNumber('jobs', values.jobs ?? String(cpus().length))
  if (jobs > most) throw new Error(`--jobs is ${jobs}; at most two per core are of use, ${most} here`)
  const file = join(tmpdir(), `paystile-crash-${Date.now()}-${process.pid}.jsonl`)
  return {
    points: values.points === undefined ? undefined : wholeNumber('points', values.points),
    seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed),
    stores: values.store as StoreName[] | undefined,
    jobs,
    file: values.resume ?? file,
    part: { index: index - 1, of },
    only: values.only.map(parseId),
  }
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > 0xffff_ffff) {
    throw new Error(`--${name} is ${text}; expected a whole number from 1`)
  }
  return value
}
