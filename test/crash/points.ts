import { createDice, type Dice } from '../sim/dice.ts'
import type { StoreName } from './site.ts'
import type { Mark, When } from './trigger.ts'

export const STORES = ['embedded', 'redis', 'postgres'] as const
export const STRATEGIES = ['gas-wallet', 'facilitator'] as const
export type StrategyName = (typeof STRATEGIES)[number]

/** A place in a purchase where the gateway can die, in any store. */
export interface Spot {
  strategy: StrategyName
  scenario: string
  effect: string
  when: When
  nth: number
}

export interface Point extends Spot {
  store: StoreName
  /** The kill comes so much after the effect; 0: exactly there. */
  delayMs: number
  /** The next life dies too, at so many effects from its start; 0: it lives. */
  secondAt: number
}

const LATEST_MS = 40
const LATEST_SECOND = 30

export function idOf({ store, strategy, scenario, effect, nth, when, delayMs, secondAt }: Point): string {
  const late = delayMs > 0 ? `+${delayMs}ms` : ''
  const second = secondAt > 0 ? `~${secondAt}` : ''
  return `${store}/${strategy}/${scenario}/${effect}#${nth}/${when}${late}${second}`
}

const ID = /^(\w+)\/([\w-]+)\/([\w-]+)\/([\w+-]+)#(\d+)\/(before|after)(?:\+(\d+)ms)?(?:~(\d+))?$/

export function parseId(id: string): Point {
  const [, store, strategy, scenario, effect, nth, when, delayMs, secondAt] = ID.exec(id) ?? []
  if (!STORES.some((name) => name === store) || !STRATEGIES.some((name) => name === strategy)) {
    throw new Error(`${id} is no point; one is named like redis/gas-wallet/plan-jwt/t1-claim#1/after`)
  }
  return {
    store: store as StoreName,
    strategy: strategy as StrategyName,
    scenario: scenario!,
    effect: effect!,
    nth: Number(nth),
    when: when as When,
    delayMs: Number(delayMs ?? 0),
    secondAt: Number(secondAt ?? 0),
  }
}

export function marksOf({ effect, when, nth, delayMs, secondAt }: Point): Mark[] {
  if (effect === '') return []
  const first: Mark = { effect, when, nth, delayMs }
  return secondAt === 0 ? [first] : [first, { effect: '*', when: '*', nth: secondAt, delayMs: 0 }]
}

/** A purchase that nothing interrupts, to see which effects it has. */
export function calmPoint(strategy: StrategyName, scenario: string): Point {
  return {
    store: 'embedded',
    strategy,
    scenario,
    effect: '',
    when: 'before',
    nth: 0,
    delayMs: 0,
    secondAt: 0,
  }
}

/**
 * `count` points, the stores by turns. Each store gets every spot once, in an order of its own, before any comes again;
 * then the kill comes a little later each time. Every fourth point kills the next life as well.
 */
export function drawPoints(
  spots: readonly Spot[],
  stores: readonly StoreName[],
  count: number,
  seed: number,
): Point[] {
  const dice = createDice(seed)
  const decks = new Map(stores.map((store) => [store, dealer(spots, dice)]))
  return Array.from({ length: count }, (_, index) => {
    const store = stores[index % stores.length]!
    const { spot, round } = decks.get(store)!()
    const delayMs = round === 0 ? 0 : dice.int(1, LATEST_MS)
    return { ...spot, store, delayMs, secondAt: dice.chance(0.25) ? dice.int(1, LATEST_SECOND) : 0 }
  })
}

function dealer(spots: readonly Spot[], dice: Dice): () => { spot: Spot; round: number } {
  let deck: Spot[] = []
  let round = -1
  return () => {
    if (deck.length === 0) {
      deck = shuffled(spots, dice)
      round += 1
    }
    return { spot: deck.pop()!, round }
  }
}

function shuffled<T>(items: readonly T[], dice: Dice): T[] {
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = dice.int(0, last)
    ;[mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!]
  }
  return mixed
}
