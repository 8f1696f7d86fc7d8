import type { AnswerStream, AuthorizationRow, ChallengeRow, HoldRow } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { microDollars } from '../../rules/token-amount.ts'
import {
  budgetOf,
  dayOf,
  newHold,
  putHold,
  STREAM_BUDGETS,
  settleHolds,
  withinBudget,
} from '../budgets/holds.ts'
import { type Core, commit, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'

/**
 * An answer that goes out as it comes is read before it is paid. So only a payer with an earlier metered charge in a
 * final block gets one, and what is out at once or was never paid today stays within the route's limits, for this payer
 * and for all. Returns the stored holds; undefined: the answer must wait for the chain.
 */
export async function holdStream(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  { itemId }: ChallengeRow,
): Promise<string[] | undefined> {
  const limits = core.config.catalog.routes.get(itemId)?.stream
  const amount = unpaidMicro(rail, attempt)
  if (!limits || amount > limits.perPayer || amount > limits.inAll) return undefined
  if (!(await getOne(core, 'marks', hasPaidKey(rail, attempt.payer)))) return undefined
  const holds = streamHolds(core, rail, attempt, itemId)
  // Durable, for the answer goes out next.
  if (!(await commit(core, { puts: holds.map(putHold) }))) return undefined
  const keys = holds.map((hold) => hold.key)
  for (const [index, limit] of [limits.perPayer, limits.inAll].entries()) {
    const { over } = await withinBudget(core, budgetOf(keys[index]!), limit, new Set(keys))
    if (over.size === 0) continue
    await settleHolds(core, keys, 'returned')
    return undefined
  }
  return keys
}

const unpaidMicro = (rail: OpenRail, { value }: AuthorizationRow): number =>
  Number(microDollars(rail.network.token, value) ?? Number.POSITIVE_INFINITY)

/** The holds of one answer, not stored yet: in the budget of its payer, and in the budget of all payers. */
export function streamHolds(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  itemId: string,
): [HoldRow, HoldRow] {
  const { payer, key } = attempt
  const scope = `${STREAM_BUDGETS}${rail.network.chainId}:${itemId}`
  const day = dayOf(core.clock.now())
  const hold = (whose: string) => newHold(core, `${scope}:${whose}:${day}`, key, unpaidMicro(rail, attempt))
  return [hold(payer), hold('all')]
}

const hasPaidKey = ({ network }: OpenRail, payer: Address): string =>
  `paid-metered/${network.chainId}/${payer}`

const isStreaming = ({ config }: Core): boolean =>
  [...config.catalog.routes.values()].some(({ stream }) => stream !== undefined)

/** A metered charge of this payer is in a final block. */
export async function rememberPaid(core: Core, rail: OpenRail, payer: Address): Promise<void> {
  if (!rail.scheme.metered || !isStreaming(core)) return
  const row = { key: hasPaidKey(rail, payer), version: 0, ref: null, dueAt: null, value: 1 }
  // A conflict means that it is known.
  await commit(core, { puts: [{ table: 'marks', row }] })
}

/** What went out of an answer that nobody is charged for has been read: it is among the losses of today. */
export async function countRead(
  core: Core,
  attempt: AuthorizationRow,
  stream: AnswerStream | undefined,
): Promise<AuthorizationRow> {
  const { streamed: read, ...rest } = attempt
  if (!read || !stream?.hasBegun) return attempt
  await settleHolds(core, read, 'spent')
  return rest
}

/** An answer that this payer has read was never paid: its next answers wait for the chain, until it has paid again. */
export async function writeOffStream(
  core: Core,
  rail: OpenRail,
  { payer, streamed }: AuthorizationRow,
): Promise<void> {
  if (!streamed) return
  await settleHolds(core, streamed, 'spent')
  const mark = await getOne(core, 'marks', hasPaidKey(rail, payer))
  if (!mark) return
  const { key, version } = mark
  await commit(core, { puts: [], removes: [{ table: 'marks', key, version }] })
}
