import type { CreditRow, Step } from '../../../src/ports.ts'
import { START_MS, type World } from '../world.ts'

/** What happened to credits: each step that was stored, and each answer that a gateway let out. */
export interface CreditLedger {
  /** Looks at an applied step. */
  watch(step: Step): void
  /** A call begins. */
  begin(call: PrepaidAttempt): void
  /** How it ended, as far as anybody knows; without an end its outcome is unknown. */
  end(call: PrepaidAttempt, end: 'answered' | 'repeated' | 'refused'): void
  readonly attempts: ReadonlyMap<PrepaidAttempt, 'answered' | 'repeated' | 'refused' | undefined>
  /** Sign-ins that a gateway accepted, by their nonce. */
  readonly signIns: Map<string, number>
}

/** One prepaid call, as one gateway makes it. */
export interface PrepaidAttempt {
  payer: string
  credits: number
  idempotencyKey?: string | undefined
}

/** I19, in every step: what is debited was reserved, once, out of a purchase that ran. */
export function watchCredits(world: World): CreditLedger {
  const { weather, scheduler } = world
  const last = new Map<string, CreditRow>()
  const attempts: Map<PrepaidAttempt, 'answered' | 'repeated' | 'refused' | undefined> = new Map()

  function check(before: CreditRow, row: CreditRow): void {
    const { key, granted, spent, reserved } = row
    const held = reserved.reduce((sum, { credits, lapsed }) => (lapsed ? sum : sum + credits), 0)
    if (spent + held > granted)
      world.violate('I19', `${key} granted ${granted}, and ${spent} are spent and ${held} reserved`)
    if (granted !== before.granted) world.violate('I19', `${key} grants ${granted} and not ${before.granted}`)
    // The chain may also take the payment of a purchase that was closed.
    if (before.ended && row.ended !== before.ended && before.ended !== 'closing' && row.ended !== 'lost')
      world.violate('I19', `${key} was ${before.ended} and is ${row.ended}`)
    const own = (rows: CreditRow['reserved'], id: string) => rows.some((one) => one.id === id)
    const gone = before.reserved.filter(({ id, lapsed }) => !lapsed && !own(reserved, id))
    const most = gone.reduce((sum, { credits }) => sum + credits, 0)
    const debited = spent - before.spent
    if (debited < 0 || debited > most)
      world.violate('I19', `${debited} of ${key} are debited, and ${most} were reserved`)
    if (debited > 0) world.count('debits')
    if (debited < most) world.count('given back')
    if (
      reserved.some(({ id, lapsed }) => lapsed && before.reserved.some((one) => one.id === id && !one.lapsed))
    )
      world.count('reservations lapsed')
    const added = reserved.some(({ id }) => !own(before.reserved, id))
    if (!added) return
    world.count('reservations')
    if (before.ended) world.violate('I19', `${key} is ${before.ended}, and more of it is reserved`)
    // A step may be under way while its purchase ends, and while the faults end, which sets the clocks right.
    const underWayMs = 2 * weather.maxLatencyMs
    const isCalm = world.calm && scheduler.now() >= START_MS + weather.horizonMs + underWayMs
    const latest = row.expiresAt + (isCalm ? 0 : weather.maxSkewMs + underWayMs)
    if (scheduler.now() >= latest) world.violate('I19', `${key} has expired, and more of it is reserved`)
  }

  return {
    attempts,
    signIns: new Map(),
    begin: (call) => void attempts.set(call, undefined),
    end: (call, end) => void attempts.set(call, end),
    watch({ puts, removes = [] }) {
      for (const { table, row } of puts) {
        if (table !== 'credits') continue
        const before = last.get(row.key)
        // What the store has lost may be written again.
        if (before && weather.losses === 0) check(before, row)
        if (!before) world.count('credits granted', row.granted)
        last.set(row.key, row)
      }
      for (const { table, key } of removes) if (table === 'credits') last.delete(key)
    },
  }
}
