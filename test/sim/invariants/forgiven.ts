import type { ChallengeRow } from '../../../src/ports.ts'
import type { Buyer } from '../buyers/shop.ts'
import type { World } from '../world.ts'

/**
 * Whom a store that lost its last second excuses: everything that a lost commit spoke of, the buyers of it, and the
 * other purchases of those buyers. For them alone these are not checked: I1 and the promise to buyers, one charge per
 * requestId where several authorizations were signed, I8, I9, which transaction a record names, and I4 for plain transfers, which have no nonce. A payment
 * under way whose claim was lost goes to the first request that shows it (I7).
 * For them too, and from the chain alone: no authorization is charged twice (I2); each payment is refunded at most once,
 * at most its value and to its payer, and the refund's record says what the chain says (I5, I6); nobody holds more
 * results than it made payments (I3, I4); no secret gets out (I11); gas is bounded (I10); what is still stored ends (I12).
 */
export interface Forgiven {
  challenge(challengeId: string): boolean
  request(requestId: string): boolean
  /** By the key of the authorization or receipt. */
  payment(key: string): boolean
  payer(address: string): boolean
}

const nobody: Forgiven = {
  challenge: () => false,
  request: () => false,
  payment: () => false,
  payer: () => false,
}

export function forgivenIn(
  { world, buyers }: { world: World; buyers: readonly Buyer[] },
  rows: readonly ChallengeRow[],
): Forgiven {
  const { lost } = world
  if (lost.challenges.size + lost.requests.size + lost.payments.size === 0) return nobody
  const challenges = new Set(lost.challenges)
  const requests = new Set(lost.requests)
  const payers = new Set(lost.payers)
  const orders = buyers.flatMap(ordersOf)
  for (const { key: challengeId, requestId, offeredRequestId, payer } of rows) {
    orders.push({ challengeId, requestId, payer })
    if (offeredRequestId !== undefined) orders.push({ challengeId, requestId: offeredRequestId, payer })
  }
  // Until no more are added.
  for (let before = -1; before < challenges.size + requests.size + payers.size; ) {
    before = challenges.size + requests.size + payers.size
    for (const { challengeId, requestId, payer } of orders) {
      const hit =
        challenges.has(challengeId ?? '') || requests.has(requestId ?? '') || payers.has(payer ?? '')
      if (!hit) continue
      if (challengeId !== undefined) challenges.add(challengeId)
      if (requestId !== undefined) requests.add(requestId)
      if (payer !== null) payers.add(payer)
    }
  }
  return {
    challenge: (id) => challenges.has(id),
    request: (id) => requests.has(id),
    payment: (key) => lost.payments.has(key) || [...payers].some((payer) => key.includes(payer)),
    payer: (address) => payers.has(address),
  }
}

interface Named {
  challengeId: string | undefined
  requestId: string | undefined
  payer: string | null
}

function ordersOf({ address: payer, requestId, payments, proofs }: Buyer): Named[] {
  return [
    { challengeId: undefined, requestId, payer },
    ...proofs.map(({ challengeId }) => ({ challengeId, requestId, payer })),
    ...payments.map(({ intent, payment }) => {
      const extra = payment.accepted?.extra
      return { challengeId: extra?.challengeId, requestId: intent.requestId ?? extra?.requestId, payer }
    }),
  ]
}
