import type { GatewayError } from '../errors.ts'
import type { AuditEntry, AuthorizationRow, Parcel, Parcelable, SimResult } from '../ports.ts'
import { explainReason, validityFault } from '../rules/check-payment.ts'
import { claimedEntry } from './apply-event.ts'
import { type Core, stored } from './core.ts'
import { findCancelled } from './find-cancelled.ts'
import { holdGas } from './gas-budget.ts'
import { type Look, lookAtChain } from './look-at-chain.ts'
import type { OverBudget } from './over-budget.ts'
import { refuseUndelivered } from './refund-cap.ts'
import { alreadyRedeemed, paymentFailed } from './refusals.ts'
import { type Looked, release, releaseAll } from './release-claim.ts'
import { withResolvers } from './signals.ts'

/**
 * Sends claims. An idle one sends at once; a busy one gathers what comes meanwhile into one look and few sends, because
 * payments that share a transaction share its gas.
 */
export interface Broadcaster {
  add(attempt: AuthorizationRow): Promise<Looked>
}

/** Called with every row that was stored as BROADCAST, for the resolver to watch. */
export interface Sink {
  watch(rows: readonly AuthorizationRow[]): void
  /** A refusal that certainly sent nothing. */
  refused(row: AuthorizationRow, reason: string): Promise<void>
  /** Something was sent: the chain is worth a look now. */
  poke(): void
  /** Undefined while nothing is under way; else resolves when some of it is decided. */
  progress(): Promise<void> | undefined
}

const MAX_BATCH = 200
/** So few share little gas, and do not wait for more than a moment. */
const FEW = 8
/** Instances that share a gas wallet meet at the insert of a nonce: whoever lost waits a little, each another while. */
const NONCE_RACES = 32
const LONGEST_STAND_OFF_MS = 160

export function createBroadcaster(core: Core, sink: Sink): Broadcaster {
  const { packs } = core.settlement
  const queue = new Map<string, { attempt: AuthorizationRow; resolve: (looked: Looked) => void }>()
  let busy = false
  let full: (() => void) | undefined

  /**
   * While others are under way, a payment waits for company: until one of those is decided, it has been long enough, a
   * transaction is full, or only few have come and nobody any more.
   */
  async function gather(): Promise<void> {
    const { quietMs, gatherMs } = core.config
    const progress = sink.progress()
    if (packs < 2 || gatherMs === 0 || !progress) return
    const untilMs = core.clock.now() + gatherMs
    let decided = false
    const moved = progress.then(() => {
      decided = true
    })
    let before = 0
    while (!decided && queue.size < packs && core.clock.now() < untilMs) {
      if (queue.size === before && before < FEW) return
      before = queue.size
      const filled = withResolvers()
      full = filled.resolve
      await Promise.race([filled.promise, moved, core.clock.sleep(quietMs)])
      full = undefined
    }
  }

  async function drain(): Promise<void> {
    busy = true
    // One microtask turn, so that claims of one tick travel together.
    await Promise.resolve()
    while (queue.size > 0) {
      await gather()
      const batch = [...queue.values()].slice(0, MAX_BATCH)
      for (const { attempt } of batch) queue.delete(attempt.key)
      const looked = await broadcast(
        core,
        sink,
        batch.map((entry) => entry.attempt),
      ).catch((cause: unknown) => {
        core.alerts.raise('job-failed', `broadcast: ${cause instanceof Error ? cause.message : 'unknown'}`)
        return new Map<string, Looked>()
      })
      for (const { attempt, resolve } of batch) resolve(looked.get(attempt.key) ?? { kind: 'taken' })
    }
    busy = false
  }

  return {
    add(attempt) {
      const { promise, resolve } = withResolvers<Looked>()
      // It waited so long that its lease lapsed, and it was claimed again: only the newest claim may be sent.
      queue.get(attempt.key)?.resolve({ kind: 'taken' })
      queue.set(attempt.key, { attempt, resolve })
      if (!busy) void drain()
      else if (queue.size >= packs) full?.()
      return promise
    },
  }
}

/** Look, T1b, send: for fresh claims, and for attempts whose last transaction came to nothing. */
export async function broadcast(
  core: Core,
  sink: Sink,
  attempts: readonly AuthorizationRow[],
): Promise<Map<string, Looked>> {
  const looked = new Map<string, Looked>()
  let look: Look
  const looking = lookAtChain(
    core,
    attempts.map(({ auth }) => auth),
  )
  const capped = refuseUndelivered(core, attempts)
  // Whoever fails first is heard first; the other must not be an unhandled rejection.
  capped.catch(() => {})
  // Where no other instance waits for its turn meanwhile, they are packed while the chain looks.
  const packing = core.store.exclusive ? packAhead(core, attempts) : undefined
  let refused: Map<string, OverBudget>
  try {
    look = await looking
    refused = await capped
  } catch {
    dropAll(await packing)
    // Nothing was sent: the claims go back, and the buyer is told to send the same payload again.
    await releaseAll(core, attempts, looked)
    return looked
  }
  const sound: Item[] = []
  const cancelled = await findCancelled(core, attempts, look)
  await Promise.all(
    attempts.map(async (attempt, index) => {
      const result = cancelled.has(attempt) ? CANCELLED : look.results[index]!
      const refusal = refusalOf(attempt, result, look.at.timestamp)
      if (refusal && attempt.phase === 'CLAIMED') return release(core, attempt, refusal, looked)
      if (refusal) {
        // Its transaction came to nothing, and a new one would fail too. One with a facilitator may still be under way.
        if (result.kind === 'fails' && attempt.walletTx !== null) await sink.refused(attempt, result.reason)
        return
      }
      const row = {
        ...attempt,
        fromHeight: attempt.phase === 'CLAIMED' ? look.finalizedHeight : attempt.fromHeight,
      }
      const over = refused.get(attempt.key)
      if (over) return release(core, attempt, over.error, looked, over.later)
      const { alone, gas } = result.kind === 'ok' ? result : { alone: false }
      const { key, auth, packLimit } = row
      sound.push({ key, auth, alone, packLimit, row, ...(gas !== undefined && { gas }) })
    }),
  )
  const good = await withinGasBudget(core, sink, sound, looked)
  const packed = await packing
  const asPacked = good.length === attempts.length && good.every(({ alone }) => !alone)
  if (!asPacked) dropAll(packed)
  await sendAll(core, sink, good, looked, asPacked ? packed : undefined)
  return looked
}

const CANCELLED: SimResult = { kind: 'fails', reason: 'canceled' }

/** A claim that may be sent. */
type Item = Parcelable & { row: AuthorizationRow }

/** Those whose gas may be risked. The others are released, or given up where an earlier transaction came to nothing. */
async function withinGasBudget(
  core: Core,
  sink: Sink,
  items: readonly Item[],
  looked: Map<string, Looked>,
): Promise<Item[]> {
  const { held, over } = await holdGas(core, items)
  await Promise.all(
    held.map(async ({ row }) => {
      const refusal = over.get(row.key)
      if (!refusal) return
      if (row.phase === 'CLAIMED') return release(core, row, refusal.error, looked, refusal.later)
      if (row.walletTx !== null) await sink.refused(row, refusal.error.message)
    }),
  )
  return held.filter(({ key }) => !over.has(key))
}

/** As if the chain had nothing against any of them. Undefined: it did not work out, and is tried again after the look. */
async function packAhead(core: Core, attempts: readonly AuthorizationRow[]): Promise<Parcel[] | undefined> {
  const items = attempts.map(({ key, auth, packLimit }) => ({ key, auth, alone: false, packLimit }))
  // The question goes out first: what takes our time now takes none of the buyer's.
  await core.clock.sleep(0)
  return core.settlement.pack(items).catch(() => undefined)
}

function dropAll(parcels: readonly Parcel[] = []): void {
  for (const parcel of parcels) parcel.drop()
}

function refusalOf(
  attempt: AuthorizationRow,
  result: SimResult,
  chainTime: number,
): GatewayError | undefined {
  const challenge = { key: attempt.challengeId }
  if (result.kind === 'used') return alreadyRedeemed(challenge)
  const fault = validityFault(attempt.auth, chainTime)
  if (fault) return paymentFailed(challenge, fault)
  return result.kind === 'fails' ? paymentFailed(challenge, explainReason(result.reason)) : undefined
}

async function sendAll(
  core: Core,
  sink: Sink,
  items: readonly Item[],
  looked: Map<string, Looked>,
  packed?: Parcel[],
): Promise<void> {
  let left = new Map(items.map((item) => [item.key, item]))
  for (let race = 0; left.size > 0 && race < NONCE_RACES; race++) {
    if (race > 0) await standOff(core, race)
    let parcels: Parcel[]
    try {
      parcels = (race === 0 && packed) || (await core.settlement.pack([...left.values()]))
    } catch {
      return releaseAll(
        core,
        [...left.values()].map((item) => item.row),
        looked,
      )
    }
    const again = new Map<string, Item>()
    await Promise.all(
      parcels.map(async (parcel) => {
        const members = parcel.members.map((key) => left.get(key)!)
        const rows = members.map((member) => broadcastRow(core, member.row, parcel))
        const result = await core.store.commit({
          puts: [...rows.map((row) => ({ table: 'authorizations' as const, row })), ...parcel.puts],
          audit: members.flatMap(({ row }) => claimEntry(row)),
        })
        if (result.kind === 'applied') {
          for (const row of rows) looked.set(row.key, { kind: 'broadcast' })
          const sent = rows.map(stored)
          sink.watch(sent)
          void sendParcel(core, sink, parcel, sent)
          return
        }
        parcel.drop()
        // A member that somebody else took over drops out; the others, and lost nonces, go round again.
        for (const member of members) {
          if (result.table === 'authorizations' && result.key === member.key)
            looked.set(member.key, { kind: 'taken' })
          else again.set(member.key, member)
        }
      }),
    )
    left = again
  }
}

/** Logged when the first send is certain: challenges and claims that come to nothing cost nothing, and may be many. */
function claimEntry({ challengeId, claim, auth, sends }: AuthorizationRow): AuditEntry[] {
  return claim && sends === 0 ? [claimedEntry(challengeId, claim, auth.from)] : []
}

async function standOff(core: Core, race: number): Promise<void> {
  const longestMs = Math.min(LONGEST_STAND_OFF_MS, 10 * 2 ** race)
  await core.clock.sleep(core.random.bytes(1)[0]! % longestMs)
}

function broadcastRow(core: Core, row: AuthorizationRow, parcel: Parcel): AuthorizationRow {
  const dueAt = core.clock.now() + core.config.leaseMs
  return { ...row, phase: 'BROADCAST', walletTx: parcel.walletTx, sends: row.sends + 1, dueAt }
}

async function sendParcel(
  core: Core,
  sink: Sink,
  parcel: Parcel,
  rows: readonly AuthorizationRow[],
): Promise<void> {
  try {
    const sent = await parcel.send()
    // Only the very first send can be refused for certain: an earlier one may still be on its way.
    if (sent.kind === 'refused') {
      for (const row of rows) if (row.sends === 1) await sink.refused(row, sent.reason)
    }
  } catch (cause) {
    core.alerts.raise('job-failed', `send: ${cause instanceof Error ? cause.message : 'unknown'}`)
  }
  sink.poke()
}
