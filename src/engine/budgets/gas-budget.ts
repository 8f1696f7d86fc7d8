import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow } from '../../ports.ts'
import { afterCommit, alertOnce, type Core, commit } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { gasCostOn } from './gas-price.ts'
import {
  dayOf,
  GAS_BUDGETS,
  newHold,
  putHold,
  secondsUntilTomorrow,
  settleHolds,
  spentHold,
  withinBudget,
} from './holds.ts'
import type { OverBudget } from './over-budget.ts'

/** Roughly the gas of a failing transfer from a plain account. */
const FAILED_CALL_GAS = 60_000
/** For a payer with code, if the simulation gave no estimate. */
const UNKNOWN_GAS = 300_000

/** A payment that is about to be sent. */
export interface Risk {
  row: AuthorizationRow
  /** The payer has code, which may pass every simulation and still burn the gas when it is mined. */
  alone: boolean
  /** It is sent alone for another reason, and the payer has no code. */
  plain?: boolean
  gas?: number
}

/** Each chain has its own budgets, in micro-dollars. */
const payerBudget = ({ network }: OpenRail, payer: string, at: number): string =>
  `${GAS_BUDGETS}${network.chainId}:${payer}:${dayOf(at)}`
const allBudget = ({ network }: OpenRail, at: number): string =>
  `${GAS_BUDGETS}${network.chainId}:all:${dayOf(at)}`

/**
 * Holds what the gas that could be lost costs in the stored budgets before anything is sent: for payers with code, and for plain
 * accounts whose payments failed lately. The budget of all payers refuses only those with code, so that nobody can
 * keep plain accounts from buying. Returns the risks with their stored rows, and which of them are over budget.
 */
export async function holdGas<R extends Risk>(
  core: Core,
  rail: OpenRail,
  risks: readonly R[],
): Promise<{ held: R[]; over: Map<string, OverBudget> }> {
  const limits = rail.settlement.gasWallet === undefined ? undefined : core.config.lostGasPerDay
  const over = new Map<string, OverBudget>()
  const needsHold = ({ row, alone }: R): boolean =>
    row.gasHolds === undefined && (alone || core.payers.hasFailed(row.payer))
  if (!limits || !risks.some(needsHold)) return { held: [...risks], over }
  const now = core.clock.now()
  const held = await Promise.all(
    risks.map(async (risk) => {
      if (!needsHold(risk)) return [risk]
      const amount = await gasCostOn(rail, risk.alone ? (risk.gas ?? UNKNOWN_GAS) : FAILED_CALL_GAS)
      const payer = risk.row.payer
      const atOnce = Math.max(1, Math.floor(limits.perPayer / Math.max(1, amount)))
      if (risk.alone) core.payers.limit(payer, rail.network.chainId, atOnce)
      const holds = [payerBudget(rail, payer, now), allBudget(rail, now)].map((budget) =>
        newHold(core, budget, risk.row.key, amount),
      )
      const row = { ...risk.row, gasHolds: holds.map(({ key }) => key) }
      // The broadcast step that follows makes it durable too.
      const puts = [{ table: 'authorizations' as const, row }, ...holds.map(putHold)]
      return (await commit(core, { puts, durability: 'deferred' }))
        ? [{ ...risk, row: afterCommit(row) }]
        : []
    }),
  ).then((taken) => taken.flat())

  const own = new Set(held.flatMap(({ row }) => row.gasHolds ?? []))
  const verdicts = new Map<string, { later: boolean; what: string }>()
  async function review(budget: string, limit: number, whose: string, what: string): Promise<void> {
    const { over: refused, spent } = await withinBudget(core, budget, limit, own)
    for (const [key, { later }] of refused) {
      verdicts.set(key, { later, what })
      if (!later) alertOnce(core, budget, 'gas-wasted', wasted(rail, whose, spent, limit))
    }
  }
  const payers = new Set(held.filter(({ row }) => row.gasHolds).map(({ row }) => row.payer))
  await Promise.all([
    review(allBudget(rail, now), limits.inAll, 'payments that failed', TOO_MANY_FAILED),
    ...[...payers].map((payer) =>
      review(
        payerBudget(rail, payer, now),
        limits.perPayer,
        `payments of ${payer}`,
        `Payments of ${payer} failed on chain too often today.`,
      ),
    ),
  ])
  for (const { row, alone, plain } of held) {
    const [ofPayer, ofAll] = row.gasHolds ?? []
    const hasCode = alone && plain !== true
    const verdict = verdicts.get(ofPayer ?? '') ?? (hasCode ? verdicts.get(ofAll ?? '') : undefined)
    if (verdict) over.set(row.key, refusal(core, row, verdict))
  }
  return { held, over }
}

const TOO_MANY_FAILED =
  'Too many payments of smart wallets failed on chain today: pay from an account without code.'

function refusal(core: Core, row: AuthorizationRow, { later, what }: { later: boolean; what: string }) {
  const message = later
    ? 'So many payments that could fail are in flight that no more are taken now. Nothing was charged.'
    : `${what} No more are taken until tomorrow (UTC). Nothing was charged.`
  const retryAfterSeconds = later ? 1 : secondsUntilTomorrow(core.clock.now())
  const details = { challengeId: row.challengeId, retryAfterSeconds }
  return { later, error: new GatewayError('RATE_LIMITED', message, details) }
}

function wasted({ network }: OpenRail, whose: string, spent: number, limit: number): string {
  return `${whose} lost ${dollars(spent)} of the ${dollars(limit)} of gas that may be lost a day on ${network.name}; more such payments are refused until tomorrow (UTC)`
}

const dollars = (micro: number): string => `$${(micro / 1e6).toFixed(2)}`

/**
 * Settles the holds of payments that were sent: the gas of those that landed is returned, the gas of the others is
 * spent.
 */
export async function settleGas(
  core: Core,
  rows: readonly AuthorizationRow[],
  as: 'returned' | 'spent',
): Promise<void> {
  await settleHolds(
    core,
    rows.flatMap(({ gasHolds = [] }) => gasHolds),
    as,
  )
  if (as === 'spent') await Promise.all(rows.map((row) => countLost(core, row)))
}

/** Counts the gas of a plain account's payment that failed after it was sent, and for which nothing was held. */
async function countLost(core: Core, row: AuthorizationRow): Promise<void> {
  const { key, payer, gasHolds, walletTx } = row
  if (gasHolds !== undefined || walletTx === null || core.config.lostGasPerDay === undefined) return
  const now = core.clock.now()
  const rail = core.rails.of(row)
  const amount = await gasCostOn(rail, FAILED_CALL_GAS)
  const holds = [payerBudget(rail, payer, now), allBudget(rail, now)].map((budget) =>
    spentHold(core, newHold(core, budget, key, amount)),
  )
  await commit(core, { puts: holds.map(putHold), durability: 'deferred' }).catch(() => false)
}
