import { openRunFile, type RunFile } from '../run-file.ts'
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

/** Its lines are points. */
export type Progress = RunFile<Plan, Done>

export const openProgress: (file: string) => Progress = openRunFile
