import { worthOf } from './effects.ts'
import { inLanes, type Lane } from './lane.ts'
import { calmPoint, type Spot, STRATEGIES } from './points.ts'
import { SCENARIOS } from './scenarios.ts'
import type { When } from './trigger.ts'

/** Plays every scenario once without a crash and answers the effects that it had. */
export async function findSpots(lanes: readonly Lane[]): Promise<Spot[]> {
  const calm = STRATEGIES.flatMap((strategy) =>
    Object.entries(SCENARIOS).flatMap(([scenario, { gasWalletOnly }]) =>
      gasWalletOnly && strategy !== 'gas-wallet' ? [] : calmPoint(strategy, scenario),
    ),
  )
  const spots: Spot[] = []
  await inLanes(
    lanes,
    () => calm.shift(),
    async (lane, { strategy, scenario, ...point }) => {
      const { reached, violations, logs } = await lane.run({ strategy, scenario, ...point })
      if (violations.length > 0) {
        const what = [...violations, ...logs].join('\n')
        throw new Error(`${strategy}/${scenario} fails without any crash:\n${what}`)
      }
      for (const [spot, times] of reached) {
        const [effect, when] = spot.split('/') as [string, When]
        for (let nth = 1; nth <= Math.min(times, worthOf(effect)); nth++) {
          spots.push({ strategy, scenario, effect, when, nth })
        }
      }
    },
  )
  // Not in the order in which the lanes finished: a seed must draw the same points again.
  const nameOf = (spot: Spot) => Object.values(spot).join('/')
  return spots.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}
