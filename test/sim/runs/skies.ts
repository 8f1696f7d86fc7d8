import { STORMS } from '../storms.ts'
import type { Storm } from '../weather.ts'

/** Which weather the histories of a run have: drawn, of one storm (its number, from 1), or of every storm by turns. */
export type Skies = 'drawn' | 'all' | number

export interface Sky {
  /** The storm's number, as `--storm` takes it; undefined: all of the weather is drawn. */
  storm?: number
  weather?: Storm
}

/** Of all storms by turns every second history has drawn weather, because that is more various than they are together. */
export function skyOf(seed: number, skies: Skies): Sky {
  if (skies === 'drawn' || (skies === 'all' && seed % 2 === 0)) return {}
  const storm = skies === 'all' ? 1 + (((seed - 1) / 2) % STORMS.length) : skies
  const { weather } = STORMS[storm - 1]!
  return { storm, weather }
}

export function nameOfSky(storm: number | undefined): string {
  return storm === undefined ? 'drawn weather' : `storm ${storm}: ${STORMS[storm - 1]!.name}`
}
