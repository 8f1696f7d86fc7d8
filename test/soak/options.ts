import { parseArgs } from 'node:util'

export const USAGE = `npm run soak -- --minutes N [--seed S] [--store postgres|redis] [--buyers B] [--graph FILE] [--keep]

  --minutes  how long buyers buy and faults happen; then everything is settled and the books are compared
  --seed     draws the same faults and the same buyers again; default: a new one each time
  --store    what the three instances share (default postgres)
  --buyers   buyers at the same time (default 12)
  --graph    where the picture of the run is written (default soak.svg in the folder of the run)
  --keep     keeps the folder of the run, with what the instances logged, also if everything agrees`

export type StoreName = 'postgres' | 'redis'

export interface Options {
  minutes: number
  seed: number | undefined
  store: StoreName
  buyers: number
  graph: string | undefined
  keep: boolean
}

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      store: { type: 'string', default: 'postgres' },
      buyers: { type: 'string', default: '12' },
      graph: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  })
  const { store, minutes: stated = '', graph, keep } = values
  if (store !== 'postgres' && store !== 'redis')
    throw new Error(`--store is ${store}; it can be postgres or redis`)
  const minutes = Number(stated)
  if (!(minutes > 0 && minutes <= 1440))
    throw new Error(`--minutes is ${stated || 'missing'}; expected a number up to 1440, for example 5`)
  return {
    ...{ minutes, store, graph, keep },
    seed: values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0xffff_ffff),
    buyers: wholeNumber('buyers', values.buyers, 48),
  }
}

function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > most)
    throw new Error(`--${name} is ${text}; expected a whole number from 1 to ${most}`)
  return value
}
