import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openRunFile, type RunFile } from '../../run-file.ts'
import type { Seeds } from './play-seeds.ts'
import type { Tally } from './tally.ts'

/** What a run is made of. The build is part of it: histories of two engines are not one run. */
export interface Plan extends Seeds {
  partSize: number
  build: string
}

/** A part of a run that was played. */
export interface PlayedPart {
  /** Its first seed. */
  from: number
  tally: Tally
}

export type Progress = RunFile<Plan, PlayedPart>

export const openProgress: (file: string) => Progress = openRunFile

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
