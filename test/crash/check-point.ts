import type { RowBase, TableName } from '../../src/ports.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import type { Bought } from './buyer.ts'
import type { Scenario } from './scenarios.ts'
import type { Books } from './supervised-gateway.ts'

const ENDED = ['DELIVERED', 'REFUNDED', 'EXPIRED', 'CANCELLED']
const LIVE = ['CLAIMED', 'CHARGED', 'BROADCAST', 'ABANDONED']

/** What is still under way. Empty: nothing will happen any more, by the store's own account. */
export function openWork(books: Books): string[] {
  return [
    ...books.challenges
      .filter(({ state }) => !ENDED.includes(state))
      .map(({ key, state }) => `challenge ${key} is ${state}`),
    ...books.authorizations
      .filter(({ phase }) => LIVE.includes(phase))
      .map(({ key, phase }) => `attempt ${key} is ${phase}`),
    ...books.receipts.filter(({ finalized }) => !finalized).map(({ key }) => `receipt ${key} is not final`),
    ...books.refunds
      .filter(({ phase }) => phase !== 'DONE')
      .map(({ key, phase }) => `refund ${key} is ${phase}`),
    ...books.credits
      .filter(({ reserved }) => reserved.some(({ lapsed }) => !lapsed))
      .map(({ key }) => `credits of ${key} are reserved`),
    ...books.outbox.map(({ key }) => `the seller was not told ${key}`),
    ...books.walletTxs.map(({ key, phase }) => `transaction ${key} is ${phase}`),
  ]
}

export interface Flows {
  /** Transfers from this buyer to the seller, and back from the refund wallet. */
  paid: bigint[]
  refunded: bigint[]
  /** How the balance changed. */
  gain: bigint
}

export interface Evidence {
  scenario: Scenario
  books: Books
  due: Array<{ table: TableName; row: RowBase }>
  told: readonly string[]
  buyers: Array<{ buyer: DevAccount; bought: Bought; again: Omit<Bought, 'again' | 'robbed'>; flows: Flows }>
  sellerGain: bigint
  refundWalletGain: bigint
  robbed: boolean
}

/** Every promise that this point broke; computed from the chain and from what buyers got, not from the engine's rules. */
export function violationsOf(evidence: Evidence): string[] {
  const { books, scenario, sellerGain, refundWalletGain, robbed } = evidence
  // Who went away before anything was sent need not have paid.
  const payers = evidence.buyers.filter(({ flows }) => !scenario.vanishing || flows.paid.length > 0)
  const count = BigInt(payers.length)
  const wanted = {
    seller: count * scenario.price,
    refunds: scenario.sellerWorks ? 0n : -count * scenario.price,
  }
  const tokens = evidence.buyers.map(({ again }) => again.result)
  return [
    ...evidence.buyers.flatMap((one) => buyerViolations(evidence, one)),
    ...openWork(books),
    ...evidence.due.filter(isUnfinished).map(({ table, row }) => `${table} ${row.key} still waits for a job`),
    ...(sellerGain === wanted.seller ? [] : [`the seller gained ${sellerGain}, not ${wanted.seller}`]),
    ...(refundWalletGain === wanted.refunds
      ? []
      : [`the refund wallet gained ${refundWalletGain}, not ${wanted.refunds}`]),
    ...(scenario.sellerWorks && new Set(tokens).size !== tokens.length ? ['two buyers got one result'] : []),
    ...(robbed ? ['who knew only the calldata got the result'] : []),
    ...brokenHistories(books),
  ]
}

/** Claims that were certainly never sent are kept for a day, and unpaid challenges until they are swept. */
function isUnfinished({ table, row }: { table: TableName; row: RowBase }): boolean {
  if (table === 'authorizations') return (row as { phase?: string }).phase !== 'RELEASED'
  return table !== 'challenges' || (row as { state?: string }).state !== 'EXPIRED'
}

function buyerViolations(
  { scenario, books, told }: Evidence,
  { buyer, bought, again, flows }: Evidence['buyers'][number],
): string[] {
  const { price, sellerWorks } = scenario
  const who = `buyer ${buyer.address}`
  const { challengeId } = bought
  const challenge = books.challenges.find(({ key }) => key === challengeId)
  const found: string[] = []
  const expect = (holds: boolean, otherwise: string) => void (holds || found.push(`${who} ${otherwise}`))
  const same = (values: bigint[], ...wanted: bigint[]) => values.join() === wanted.join()
  if (scenario.vanishing && flows.paid.length === 0) {
    expect(!again.delivered && flows.gain === 0n, `paid nothing, lost ${-flows.gain} and got ${again.said}`)
    return found
  }
  expect(same(flows.paid, price), `paid [${flows.paid}] instead of ${price} once`)
  if (sellerWorks) {
    const first = scenario.vanishing ? again : bought
    expect(first.delivered, `paid and got no result: ${first.said}`)
    expect(same(flows.refunded), `got the result and a refund of [${flows.refunded}]`)
    expect(flows.gain === -price, `is poorer by ${-flows.gain}`)
    expect(challenge?.state === 'DELIVERED', `has a challenge in ${challenge?.state}`)
    expect(!first.delivered || holdsId(first.result, challengeId), `got a foreign result: ${first.result}`)
    const spent = books.credits.find(({ key }) => key === challengeId)?.spent
    expect(spent === scenario.spent, `has spent ${spent} credits instead of ${scenario.spent}`)
    expect(again.result === first.result, `got another result later: ${again.said}`)
  } else {
    expect(!bought.delivered && !again.delivered, `got a result although the seller failed: ${bought.said}`)
    expect(same(flows.refunded, price), `was refunded [${flows.refunded}] instead of ${price} once`)
    expect(flows.gain === 0n, `ended with ${flows.gain} although it was refunded`)
    expect(challenge?.state === 'REFUNDED', `has a challenge in ${challenge?.state}`)
    expect(told.includes(`refunded:${challengeId}`), 'was refunded and the seller was not told')
  }
  expect(told.includes(`payment-received:${challengeId}`), 'paid and the seller was not told')
  return found
}

/** A JWT carries the challengeId as jti, our own servers say it plainly. */
function holdsId(result: string, challengeId: string): boolean {
  const [, claims = ''] = result.split('.')
  return result.includes(challengeId) || Buffer.from(claims, 'base64url').toString().includes(challengeId)
}

/** Each log line starts in the state in which the one before it ended, and a challenge is paid once. Unpaid ones leave no log. */
function brokenHistories({ log, challenges }: Books): string[] {
  return challenges.flatMap(({ key, state, claimed }) => {
    const lines = log.filter(({ challengeId }) => challengeId === key).sort((a, b) => a.seq - b.seq)
    const jumps = lines.filter(({ fromState }, index) => index > 0 && fromState !== lines[index - 1]!.toState)
    const paid = lines.filter(({ event }) => event === 'paid').length
    return [
      ...jumps.map(({ event, fromState }) => `challenge ${key}: ${event} began in ${fromState}`),
      ...(!claimed || lines.at(-1)?.toState === state
        ? []
        : [`challenge ${key}: the log does not end in ${state}`]),
      ...(paid > 1 ? [`challenge ${key} was paid ${paid} times`] : []),
    ]
  })
}
