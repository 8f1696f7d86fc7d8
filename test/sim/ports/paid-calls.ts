import type { World } from '../world.ts'
import type { Host } from './faulty-call.ts'
import type { RecordedStore } from './recorded-store.ts'

/** Paid calls that the seller's backend or handler is working on, whatever instance asked for them. */
export interface PaidCalls {
  /** A call of this process begins. Returns what is to be called when it ends. */
  begin(challengeId: string, host: Pick<Host, 'alive' | 'starting'>): Promise<() => void>
}

interface PaidCall {
  untilMs: number
  host: Pick<Host, 'alive' | 'starting'>
  isEarly: boolean
}

/** I2: what was paid for once is called by one request at a time, as long as that request's lease lasts, and only while it is PAID. */
export function watchPaidCalls(
  world: World,
  { store, leasedUntil }: Pick<RecordedStore, 'store' | 'leasedUntil'>,
): PaidCalls {
  const { scheduler, weather } = world
  /** By challenge: until when each call under way is alone. */
  const underWay = new Map<string, Set<PaidCall>>()
  // A process that has its store for itself ends, at its start, the leases of the process before it, whose calls ended
  // with it; and those of its own calls, which a real server would not make yet.
  const isOver = ({ host, isEarly }: PaidCall): boolean => weather.instances === 1 && (!host.alive || isEarly)

  return {
    async begin(challengeId, host) {
      const [challenge] = await store.get('challenges', [challengeId])
      // Where clocks differ, or the store forgot it, another instance may hold a lease for lapsed while this one still has it.
      const exact = weather.maxSkewMs === 0 && weather.losses === 0
      // The chain may drop the payment for good after the lease was stored; the call then goes on like one under way.
      const isLost = challenge?.state === 'EXPIRED' && (leasedUntil.get(challengeId) ?? 0) > scheduler.now()
      if (isLost) world.count('calls of payments that were lost since')
      if ((world.calm || exact) && challenge?.state !== 'PAID' && !isLost)
        world.violate('I2', `a call is made for ${challengeId}, which is ${challenge?.state}`)
      const others = underWay.get(challengeId) ?? new Set()
      if (exact && [...others].some((call) => call.untilMs > scheduler.now() && !isOver(call)))
        world.violate('I2', `two requests call ${challengeId} at once`)
      const call = { untilMs: challenge?.leaseUntil ?? 0, host, isEarly: host.starting }
      underWay.set(challengeId, others.add(call))
      return () => void others.delete(call)
    },
  }
}
