import type { AuthorizationRow, ChallengeRow, Step } from '../../../src/ports.ts'
import type { Address } from '../../../src/protocol/hex.ts'
import { METERED_MAX, METERED_ROUTE, type World } from '../world.ts'

/** One call of the metered backend. */
export interface MeteredCall {
  id: number
  challengeId: string
  payer: Address
  /** The payment under whose claim it was made; empty if the claim had lapsed by then. */
  key: string
  end: 'under way' | 'answered' | 'failed'
  /** What it costs by the words of the backend, computed here; undefined: they say no amount. */
  charge?: bigint | undefined
  begunAt: number
  /** Its answer went out from then on, unpaid. */
  streamedAt?: number
  /** It failed, and its claim was released for that reason. */
  isReleased?: true
}

interface MeteredAttempt {
  phase: AuthorizationRow['phase']
  payer: Address
  chainId: string
  /** Its call was made. */
  called: boolean
  /** What the step that stored the charge said. */
  charge?: string
  answer?: string
  isUnpaid?: boolean
  /** A reorganisation undid its payment. */
  undoneAt?: number
}

/** Metered calls as they happened: what the backend said, what was stored, what the chain showed of payers. */
export interface MeterBook {
  readonly calls: readonly MeteredCall[]
  /** By the key of a payment: what was stored as its charge, of all that ever had one. */
  readonly charges: ReadonlyMap<string, bigint>
  /** Was this ever stored as its charge, even if the store lost it and took another since? */
  everCharged(key: string, value: bigint): boolean
  begin(call: { challengeId: string; payer: Address; key: string }): MeteredCall
  /**
   * What is open of this payment, or will never be paid: the maximum, or the charge of one that was paid and undone by
   * a reorganisation until `since`.
   */
  unpaidOf(key: string, since: number): bigint
  noteFunds(chainId: number, payer: Address, funds: bigint): void
  /** The call whose answer this is. */
  answerIn(text: string): MeteredCall | undefined
  /** Called with what goes out to a buyer. */
  checkAnswer(body: unknown, amount: string | undefined): void
  /** Looks at an applied step. */
  watch(step: Step): void
}

/** From which phase to which, written a second time on purpose. */
const LEGAL: Record<string, readonly string[]> = {
  none: ['CLAIMED'],
  RELEASED: ['CLAIMED'],
  CLAIMED: ['CLAIMED', 'CHARGED', 'CONFIRMED', 'RELEASED'],
  CHARGED: ['CHARGED', 'BROADCAST', 'DEAD'],
  BROADCAST: ['BROADCAST', 'CONFIRMED', 'ABANDONED', 'DEAD'],
  ABANDONED: ['ABANDONED', 'CONFIRMED', 'DEAD'],
  CONFIRMED: ['CONFIRMED', 'BROADCAST', 'DEAD'],
  DEAD: ['CONFIRMED', 'DEAD'],
}

const LIVE = ['CLAIMED', 'CHARGED', 'BROADCAST']

/**
 * I22, in every step: a charge is stored with the answer that it is for, is what the backend said and at most what was
 * signed, and never changes; what was answered is settled or ends unpaid, and is never released; an answer is delivered
 * after a block has taken exactly its charge.
 */
export function createMeterBook(world: World): MeterBook {
  const { lost } = world
  const calls: MeteredCall[] = []
  const attempts = new Map<string, MeteredAttempt>()
  const charges = new Map<string, bigint>()
  const everCharged = new Set<string>()
  /** The most that a look has shown of each payer. */
  const shown = new Map<string, bigint>()
  const violate = (what: string): void => world.violate('I22', what)

  function answerIn(text: string): MeteredCall | undefined {
    const id = /#(\d+)$/.exec(text)?.[1]
    return id === undefined ? undefined : calls[Number(id)]
  }

  /** Is this the answer of a call that was paid, or cost nothing? */
  function checkPaid(call: MeteredCall | undefined, what: string): void {
    if (call?.end !== 'answered') violate(`${what}: no call was answered so`)
    if (!call || call.charge === 0n) return
    if (call.charge === undefined || world.settled.get(call.key) !== call.charge)
      violate(`${what}, and no block has taken its charge ${call.charge}`)
  }

  /** What a payer's calls may cost together stays within what was once seen of its money. */
  function checkExposure(payer: Address, chainId: string): void {
    const live = [...attempts.values()].filter((attempt) => {
      return (
        attempt.called &&
        attempt.payer === payer &&
        attempt.chainId === chainId &&
        LIVE.includes(attempt.phase)
      )
    })
    if (live.length > 1) world.count('metered calls beside others')
    const most = shown.get(`${chainId}:${payer}`) ?? 0n
    const together = BigInt(live.length) * METERED_MAX
    if (together > most)
      violate(`${live.length} calls of ${payer.slice(-3)} may cost ${together}, and ${most} was seen`)
  }

  function watchAttempt(row: AuthorizationRow): void {
    const { key, phase, payer, value, auth, answer, challengeId } = row
    const before = attempts.get(key)
    const again = phase === 'CLAIMED' && before?.phase !== 'CLAIMED'
    const next: MeteredAttempt = {
      ...(again ? {} : before),
      ...{ phase, payer, chainId: key.split(':')[0]!, called: !again && before?.called === true },
    }
    if (before?.phase === 'CONFIRMED' && phase !== 'CONFIRMED') {
      next.undoneAt = world.scheduler.now()
      world.count('charges undone')
    }
    attempts.set(key, next)
    if (phase === 'CHARGED') {
      charges.set(key, BigInt(value))
      everCharged.add(`${key} ${value}`)
    }
    // An instance may go on from a row that the store has lost.
    if (lost.payments.has(key) || lost.challenges.has(challengeId)) return
    if (!LEGAL[before?.phase ?? 'none']!.includes(phase))
      violate(`${key.slice(-6)} went from ${before?.phase} to ${phase}`)
    if (phase === 'CHARGED' && before?.phase !== 'CHARGED') {
      world.count('charges stored')
      next.charge = value
      if (answer !== undefined) next.answer = answer
      const call = answerIn(answer ?? '')
      if (call?.end !== 'answered' || call.key !== key)
        violate(`${key.slice(-6)} is charged ${value} for a call that was not answered`)
      if (call && call.charge !== BigInt(value))
        violate(`${key.slice(-6)} is charged ${value} for a call that cost ${call.charge}`)
      if (BigInt(value) > BigInt(String(auth.amount)))
        violate(`${key.slice(-6)} is charged ${value} of ${auth.amount}`)
    }
    if (next.charge !== undefined && (value !== next.charge || String(auth.charge) !== next.charge))
      violate(`the charge ${next.charge} of ${key.slice(-6)} became ${value} (${auth.charge})`)
    if (['CHARGED', 'BROADCAST', 'ABANDONED'].includes(phase) && answer !== next.answer)
      violate(`${key.slice(-6)} is ${phase} and lost its answer`)
    if (before?.phase === 'BROADCAST' && phase === 'DEAD' && next.answer !== undefined)
      violate(`${key.slice(-6)} was given up while it may have been sent`)
    if (phase === 'CHARGED' && row.reason !== null && !before?.isUnpaid) world.count('answers kept back')
    next.isUnpaid = row.reason !== null
    const last = phase === 'RELEASED' && row.reason !== null && calls.findLast((call) => call.key === key)
    if (last && last.end === 'failed') last.isReleased = true
    if (phase !== 'CONFIRMED') return
    // From now on the answer is in the row of its challenge. What a reorganisation undoes later is sent again, and is not counted here.
    delete next.answer
    next.called = false
  }

  function watchChallenge({ key, state, result, itemId, chargedUnits }: ChallengeRow): void {
    if (itemId !== METERED_ROUTE.routeId || state !== 'DELIVERED' || lost.challenges.has(key)) return
    const call = answerIn(result ?? '')
    checkPaid(call, `${key} is delivered`)
    if (call?.challengeId !== key) violate(`${key} is delivered with an answer of another call`)
    if (call && chargedUnits !== String(call.charge))
      violate(`${key} cost ${call.charge}, and its record says ${chargedUnits}`)
  }

  return {
    calls,
    charges,
    everCharged: (key, value) => everCharged.has(`${key} ${value}`),
    answerIn,
    begin(facts) {
      const begunAt = world.scheduler.now()
      const call: MeteredCall = { ...facts, id: calls.length, end: 'under way', begunAt }
      calls.push(call)
      world.count('metered calls')
      const attempt = attempts.get(call.key)
      // A store that lost its last steps is not followed here.
      if (!attempt || world.weather.losses > 0) return call
      if (attempt.phase !== 'CLAIMED') {
        world.count('metered calls past their lease')
        call.key = ''
        return call
      }
      attempt.called = true
      checkExposure(call.payer, attempt.chainId)
      return call
    },
    unpaidOf(key, since) {
      const { phase, undoneAt } = attempts.get(key) ?? {}
      if (phase === undefined || phase === 'CONFIRMED' || phase === 'RELEASED') return 0n
      if (undoneAt === undefined) return METERED_MAX
      return undoneAt <= since ? charges.get(key)! : 0n
    },
    noteFunds(chainId, payer, funds) {
      const most = shown.get(`${chainId}:${payer}`) ?? 0n
      if (funds > most) shown.set(`${chainId}:${payer}`, funds)
    },
    checkAnswer(body, amount) {
      const call = answerIn(String(body))
      if (!call || lost.challenges.has(call.challengeId)) return
      world.count('metered answers')
      checkPaid(call, `the answer of ${call.challengeId} goes out`)
      if (amount !== String(call.charge))
        violate(`the buyer of ${call.challengeId} is told ${amount}, and it cost ${call.charge}`)
    },
    watch({ puts }) {
      for (const { table, row } of puts) {
        if (table === 'authorizations' && row.rail.endsWith(`/${METERED_ROUTE.scheme}`)) watchAttempt(row)
        if (table === 'challenges') watchChallenge(row)
      }
    },
  }
}
