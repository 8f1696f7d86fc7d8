import { setTimeout as sleep } from 'node:timers/promises'
import { createDice, type Dice } from '../sim/dice.ts'
import { failedSends, lostSends, missingLogs, type Node, staleHead } from './node.ts'
import type { Instance } from './shop.ts'
import type { Site } from './site.ts'

/** A fault that happened, for the picture and the report. */
export interface Mark {
  lane: string
  name: string
  from: number
  to: number
}

interface Fault {
  name: string
  /** Begins, lasts and ends. */
  run(dice: Dice, rest: (low: number, high: number) => Promise<void>): Promise<void>
}

export interface Faults {
  marks: Mark[]
  /** The instance is meant to be down now. */
  isBusy(one: Instance): boolean
  /** The end of the storm: what is under way ends, and everything is well again. */
  end(): Promise<void>
}

/**
 * From now on the first instance is neither killed nor stopped, so that its memory, handles and disk can be watched over
 * the rest of the run.
 */
export interface Spared {
  since(): boolean
}

export function startFaults(
  site: Site,
  seed: number,
  spared: Spared,
  complain: (text: string) => void,
): Faults {
  const marks: Mark[] = []
  const busy = new Set<Instance>()
  const over = new AbortController()
  const rest = (ms: number) => sleep(ms, undefined, { signal: over.signal }).catch(() => {})

  /** Faults of one kind come one after the other; those of different kinds meet. */
  async function runLane(
    lane: string,
    faults: readonly Fault[],
    pauseMs: [number, number],
    laneSeed: number,
  ) {
    const dice = createDice(laneSeed)
    while (!over.signal.aborted) {
      await rest(dice.int(...pauseMs))
      if (over.signal.aborted) return
      const fault = dice.pick(faults)
      const mark = { lane, name: fault.name, from: Date.now(), to: 0 }
      marks.push(mark)
      await fault
        .run(dice, (low, high) => rest(dice.int(low, high)))
        .catch((error: unknown) => complain(`the fault ${lane} ${fault.name} could not be made: ${error}`))
      mark.to = Date.now()
    }
  }

  const lanes = [
    runLane('rpc', rpcFaults(site.nodes), [3_000, 12_000], seed * 8 + 1),
    runLane('store', storeFaults(site), [15_000, 45_000], seed * 8 + 2),
    runLane('instances', instanceFaults(site.instances, busy, spared), [8_000, 25_000], seed * 8 + 3),
    runLane('backend', backendFaults(site), [8_000, 25_000], seed * 8 + 4),
    runLane('webhooks', webhookFaults(site), [10_000, 30_000], seed * 8 + 5),
    runLane('clock', clockFaults(site.instances), [20_000, 50_000], seed * 8 + 6),
  ]
  return {
    marks,
    isBusy: (one) => busy.has(one),
    async end() {
      over.abort()
      await Promise.all(lanes)
    },
  }
}

function rpcFaults(nodes: readonly Node[]): Fault[] {
  /** One node, or both: then there is none to go to. */
  const on = (name: string, spoil: (node: Node, dice: Dice) => void): Fault => ({
    name,
    async run(dice, rest) {
      const hit = dice.chance(0.4) ? nodes : [dice.pick(nodes)]
      for (const node of hit) spoil(node, dice)
      await rest(3_000, 12_000)
      for (const node of hit) node.heal()
    },
  })
  return [
    on('slow', ({ rpc }, dice) => {
      rpc.latencyMs = dice.int(200, 1_500)
    }),
    on('rate limit', ({ rpc }, dice) => {
      rpc.callsPerSecond = dice.int(2, 15)
      rpc.refusal = dice.pick(['status', 'retry-after', -32005, -32016, 'members'] as const)
    }),
    on('outage', ({ line }) => line.cut()),
    on('stale head', ({ rpc }, dice) => {
      rpc.lie = staleHead(dice.int(2, 8))
    }),
    on('missing logs', ({ rpc }, dice) => {
      rpc.lie = missingLogs(dice.int(1, 4))
    }),
    on('lost sends', ({ rpc }) => {
      rpc.lie = lostSends
    }),
    on('failed sends', ({ rpc }) => {
      rpc.fail = failedSends
    }),
  ]
}

function storeFaults({ store }: Site): Fault[] {
  return [
    {
      name: 'stall',
      async run(_dice, rest) {
        store.freeze()
        await rest(1_000, 7_000)
        store.thaw()
      },
    },
    { name: 'restart', run: () => store.restart() },
    {
      name: 'kill',
      async run(_dice, rest) {
        await store.kill()
        await rest(500, 3_000)
        await store.restart()
      },
    },
  ]
}

function instanceFaults(instances: readonly Instance[], busy: Set<Instance>, spared: Spared): Fault[] {
  const victims = () => (spared.since() ? instances.slice(1) : instances)
  const replace = async (one: Instance, end: () => Promise<void>, pause: () => Promise<void>) => {
    busy.add(one)
    await end()
    await pause()
    await one.start()
    busy.delete(one)
  }
  return [
    {
      name: 'kill -9',
      async run(dice, rest) {
        const one = dice.pick(victims())
        await replace(
          one,
          () => one.kill(),
          () => rest(0, 4_000),
        )
      },
    },
    {
      name: 'rolling upgrade',
      async run(_dice, rest) {
        for (const one of victims())
          await replace(
            one,
            () => one.stop(),
            () => rest(0, 1_000),
          )
      },
    },
  ]
}

function backendFaults({ backend }: Site): Fault[] {
  return (['fails', 'hangs', 'cuts', 'slow'] as const).map((mood) => ({
    name: mood,
    async run(_dice, rest) {
      backend.mood = mood
      await rest(2_000, 8_000)
      backend.mood = 'well'
    },
  }))
}

function webhookFaults({ receiver }: Site): Fault[] {
  return [
    {
      name: 'refuses',
      async run(dice, rest) {
        const share = dice.next()
        receiver.answer = () => (dice.chance(share) ? 500 : 200)
        await rest(2_000, 10_000)
        receiver.answer = () => 200
      },
    },
    {
      name: 'down',
      async run(_dice, rest) {
        await receiver.down()
        await rest(1_000, 6_000)
        await receiver.up()
      },
    },
  ]
}

/** Below five minutes: beyond that the receivers of webhooks, and MPP, take a time for false. */
const MOST_SHIFT_SECONDS = 120

function clockFaults(instances: readonly Instance[]): Fault[] {
  return [
    {
      name: 'step',
      async run(dice, rest) {
        const one = dice.pick(instances)
        one.shiftClock(dice.int(-MOST_SHIFT_SECONDS, MOST_SHIFT_SECONDS) * 1000)
        await rest(5_000, 25_000)
        one.shiftClock(0)
      },
    },
  ]
}
