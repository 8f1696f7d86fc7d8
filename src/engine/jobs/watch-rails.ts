import type { Core } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { whyUnable } from '../settle/look-at-chain.ts'
import { withResolvers } from '../signals.ts'

/** A look that has not answered by the next one counts as failed. */
const LOOK_EVERY_MS = 4_000
/** How long the start of a gateway waits for the first looks. */
const FIRST_LOOKS_MS = 2_000

const NO_ANSWER = 'the chain does not answer'

/**
 * Looks at every rail of a gateway with several, each by itself, so that a chain which hangs delays neither the other
 * rails nor any job. A single rail is offered in any case and is not watched.
 */
export interface RailWatch {
  /** Resolves after the first looks, which are not waited for without limit. */
  start(): Promise<void>
  /** A look under way is not waited for. */
  stop(): void
}

/** `isOver`: it is known whether the rail can settle. `done` also waits for its gas price, and never rejects. */
interface RailLook {
  isOver: boolean
  done: Promise<unknown>
}

export function createRailWatch(core: Core): RailWatch {
  const { clock, rails } = core
  const stopping = withResolvers()
  let stopped = false

  async function askSettlement(rail: OpenRail): Promise<void> {
    const reason = await whyUnable(rail)
    if (stopped) return
    if (reason === undefined) rails.standing.able(rail)
    else rails.standing.failed(rail, reason)
  }

  /** If it cannot be read, what was known before stays. */
  async function askGasPrice(rail: OpenRail): Promise<void> {
    if (rail.network === rails.preferred.network || !rail.settlement.gasPriceWei) return
    try {
      rails.standing.gasPrice(rail, await rail.settlement.gasPriceWei())
    } catch {
      // The next look asks again.
    }
  }

  function beginLook(rail: OpenRail): RailLook {
    const asked = askSettlement(rail).then(() => {
      look.isOver = true
    })
    const look: RailLook = { isOver: false, done: Promise.all([asked, askGasPrice(rail)]) }
    return look
  }

  function countLate(rail: OpenRail, look: RailLook): void {
    if (!look.isOver && !stopped) rails.standing.failed(rail, NO_ANSWER)
  }

  async function watch(rail: OpenRail, first: RailLook): Promise<void> {
    for (let look = first; !stopped; look = beginLook(rail)) {
      await Promise.race([clock.sleep(LOOK_EVERY_MS), stopping.promise])
      countLate(rail, look)
      if (stopped) return
    }
  }

  return {
    async start() {
      const perNetwork = [...new Map(rails.all.map((rail) => [rail.network.id, rail])).values()]
      if (perNetwork.length === 1 || stopped) return
      const first = perNetwork.map((rail) => ({ rail, look: beginLook(rail) }))
      for (const { rail, look } of first) void watch(rail, look)
      const all = Promise.all(first.flatMap(({ rail, look }) => (rail.isSilent ? [] : [look.done])))
      await Promise.race([all, clock.sleep(FIRST_LOOKS_MS), stopping.promise])
      for (const { rail, look } of first) countLate(rail, look)
    },
    stop() {
      stopped = true
      stopping.resolve()
    },
  }
}
