import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Seeds } from './play-seeds.ts'
import type { Tally } from './tally.ts'

/** What a run is made of. The build is part of it: histories of two engines are not one run. */
export interface Plan extends Seeds {
  partSize: number
  build: string
}

/** A run's file: its plan on the first line, then a line per part that was played. A run that was cut off goes on from it. */
export interface Progress {
  plan: Plan | undefined
  /** By the first seed of the part. */
  done: Map<number, Tally>
  begin(plan: Plan): void
  add(from: number, tally: Tally): void
}

export function openProgress(file: string): Progress {
  // A line that was cut off while it was written is played again.
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const [first, ...rest] = lines
  if (lines.length > 0) writeFileSync(file, `${lines.join('\n')}\n`)
  const progress: Progress = {
    plan: first === undefined ? undefined : JSON.parse(first),
    done: new Map(
      rest.map((line) => {
        const { from, tally } = JSON.parse(line) as { from: number; tally: Tally }
        return [from, tally]
      }),
    ),
    begin(plan) {
      progress.plan = plan
      writeFileSync(file, `${JSON.stringify(plan)}\n`)
    },
    add(from, tally) {
      progress.done.set(from, tally)
      appendFileSync(file, `${JSON.stringify({ from, tally })}\n`)
    },
  }
  return progress
}

/** A hash of the compiled engine and simulator that this file is part of: `<build>/test/sim/runs/progress.js`. */
export function hashOfBuild(): string {
  const build = fileURLToPath(new URL('../../..', import.meta.url))
  const hash = createHash('sha256')
  const files = readdirSync(build, { recursive: true }).map(String)
  for (const file of files.filter((name) => name.endsWith('.js')).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(build, file)))
  }
  return hash.digest('hex').slice(0, 16)
}
