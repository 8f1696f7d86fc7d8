import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Spot } from './points.ts'
import type { StoreName } from './site.ts'

/** What a run is made of: the same seed over the same spots draws the same points. */
export interface Plan {
  seed: number
  points: number
  stores: StoreName[]
  spots: Spot[]
}

export interface Done {
  index: number
  id: string
  /** 0: the effect was never reached, so that nothing was tried. */
  deaths: number
  ms: number
  violations: string[]
}

/** A run's file: its plan on the first line, then a line per point. A run that was cut off goes on from it. */
export interface Progress {
  plan: Plan | undefined
  done: Done[]
  begin(plan: Plan): void
  add(done: Done): void
}

export function openProgress(file: string): Progress {
  // A line that was cut off while it was written is played again.
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const [first, ...rest] = lines
  if (lines.length > 0) writeFileSync(file, `${lines.join('\n')}\n`)
  const progress: Progress = {
    plan: first === undefined ? undefined : JSON.parse(first),
    done: rest.map((line) => JSON.parse(line)),
    begin(plan) {
      progress.plan = plan
      writeFileSync(file, `${JSON.stringify(plan)}\n`)
    },
    add(done) {
      progress.done.push(done)
      appendFileSync(file, `${JSON.stringify(done)}\n`)
    },
  }
  return progress
}
