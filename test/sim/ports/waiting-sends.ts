import type { Chain } from '../../../src/ports.ts'
import type { World } from '../world.ts'
import { type Host, never } from './faulty-call.ts'

/** Some nodes answer a send with its block: late, not always, and not always truthfully. */
export function waitingSends(
  world: World,
  host: Host,
  submit: Chain['submit'],
): Pick<Chain, 'submitAndWait' | 'awaitsBlocks'> {
  const { sendDice, scheduler } = world
  if (!sendDice.chance(0.4)) return {}
  return {
    async submitAndWait(raw) {
      const answer = await submit(raw)
      if (answer !== 'accepted') return answer
      await scheduler.sleep(sendDice.skewed(1, world.calm ? 100 : 8_000))
      if (!host.alive) return never()
      const says = sendDice.chance(0.6) ? 'mined' : 'accepted'
      world.count(`sends that waited: ${says}`)
      return says
    },
    awaitsBlocks: () => sendDice.chance(0.8),
  }
}
