import type { ChallengeRow, ReceiptRow } from '../../../src/ports.ts'
import { simRefundNonce } from '../keys.ts'
import { METERED_ROUTE, PAY_TO, priceOf, REFUND_WALLET } from '../world.ts'
import { sum } from './ledger.ts'
import type { Scene } from './scene.ts'

/** I1, I3, I4, I5, I6, I8: where every micro-unit went. */
export function checkMoney(scene: Scene): void {
  checkConservation(scene)
  checkReceipts(scene)
  checkRefunds(scene)
  checkClaims(scene)
}

/** Is the money of this receipt still owed, and was the operator alerted? */
function isOwed(scene: Scene, key: string): boolean {
  const refund = scene.refunds.get(key)
  if (!refund || refund.phase === 'DONE' || refund.phase === 'VOID') return false
  return refund.phase === 'FAILED' || scene.world.weather.refunds === 'no-key'
}

/** I1, per payer: all money that came in for a claim was delivered for, refunded, or is owed, exactly to the unit. */
function checkConservation(scene: Scene): void {
  const { world, income, transfers, authorizations, challenges, receipts, refunds } = scene
  const claimed = new Set([...authorizations.map(({ key }) => key), ...receipts.keys()])
  const payers = new Set([...income.values()].map(({ from }) => from))
  for (const payer of payers) {
    if (scene.forgiven.payer(payer)) continue
    const paid = [...income.values()].filter(({ from, key }) => from === payer && claimed.has(key))
    const returned = transfers.filter(
      ({ to, from }) => to === payer && (from === REFUND_WALLET || from === PAY_TO),
    )
    const delivered = [...challenges.values()].filter(({ state, receipt, payer: from }) => {
      return state === 'DELIVERED' && from === payer && !receipts.get(receipt ?? '')?.lost
    })
    const owed = [...refunds.values()].filter(
      ({ key, recipient }) => recipient === payer && isOwed(scene, key),
    )
    const incoming = sum(paid.map(({ value }) => value))
    const refunded = sum(returned.map(({ value }) => value))
    const sold = sum(delivered.map((challenge) => priceIn(scene, challenge)))
    const open = sum(owed.map(({ value }) => BigInt(value)))
    if (incoming !== refunded + sold + open) {
      world.violate(
        'I1',
        `${payer.slice(-3)} paid ${incoming}; delivered ${sold}, refunded ${refunded}, owed ${open}`,
      )
    }
    world.count('payments', paid.length)
    world.count('delivered', delivered.length)
    world.count('refund transfers', returned.length)
    world.count('refunds owed', owed.length)
  }
}

/** What a delivered challenge sold for. */
function priceIn({ recorded }: Scene, { itemId, amount, receipt }: ChallengeRow): bigint {
  if (itemId !== METERED_ROUTE.routeId) return priceOf(itemId, amount) ?? 0n
  return recorded.meter.charges.get(receipt ?? '') ?? 0n
}

/** Is this the price of the challenge, or the charge that was stored for this payment of a metered call? */
function isAsked(
  { recorded: { meter }, forgiven }: Scene,
  { itemId, amount }: ChallengeRow,
  { key, value }: ReceiptRow,
): boolean {
  const charge = BigInt(value)
  // An instance may send a charge that the store has lost, although the call was made again and charged since.
  if (itemId === METERED_ROUTE.routeId)
    return meter.charges.get(key) === charge || (forgiven.payment(key) && meter.everCharged(key, charge))
  return priceOf(itemId, value) !== undefined && value === amount
}

/** I3, I4: each receipt stands on one transfer of exactly its terms, and no two on the same. */
function checkReceipts(scene: Scene): void {
  const { world, receipts, income, challenges, authorizations, outside, forgiven } = scene
  const places = new Set<string>()
  const paying = new Set<string>()
  for (const receipt of receipts.values()) {
    const transfer = income.get(receipt.key)
    if (receipt.lost) world.count('receipts lost')
    if (receipt.role === 'surplus') world.count('surplus receipts')
    if (receipt.lost ? transfer : !transfer) {
      world.violate(
        'I3',
        `receipt ${receipt.key.slice(-6)} is ${receipt.lost ? 'lost but paid' : 'not on the chain'}`,
      )
    }
    if (!transfer || receipt.lost) continue
    const challenge = challenges.get(receipt.challengeId)
    // Recorded as too much for a challenge that only the instance remembered as paid; the record of it expired.
    if (!challenge && forgiven.challenge(receipt.challengeId)) continue
    const exact =
      transfer.from === receipt.payer &&
      transfer.value === BigInt(receipt.value) &&
      challenge !== undefined &&
      isAsked(scene, challenge, receipt) &&
      receipt.txHash === transfer.txHash &&
      receipt.logIndex === transfer.logIndex
    if (!challenge || !exact) {
      world.violate('I3', `receipt ${receipt.key.slice(-6)} differs from its transfer`)
      continue
    }
    if (receipt.role === 'pays' && challenge.rail !== receipt.rail && challenge.receipt === receipt.key)
      world.violate('I3', `${challenge.key} names ${challenge.rail}, and was paid on ${receipt.rail}`)
    const place = `${transfer.txHash}:${transfer.logIndex}`
    if (places.has(place)) world.violate('I4', `transfer ${place} serves two receipts`)
    places.add(place)
    if (receipt.role !== 'pays') continue
    if (paying.has(receipt.challengeId)) world.violate('I4', `${receipt.challengeId} is paid twice`)
    paying.add(receipt.challengeId)
    // An instance that knew a lost version may have overwritten the place to which the payment has moved since.
    if (challenge.txHash !== transfer.txHash && !forgiven.challenge(challenge.key)) {
      world.violate(
        'I3',
        `challenge ${challenge.key} names ${challenge.txHash}, the chain ${transfer.txHash}`,
      )
    }
  }
  for (const { key, phase, auth, challengeId } of authorizations) {
    const transfer = income.get(key)
    if (!transfer || receipts.has(key)) continue
    // Whatever the store lost, it looks at the chain before it gives a payment up, and tells of one whose challenge is gone.
    const isTold = outside.alerts.some(
      (alert) => alert.startsWith('receipt-lost') && alert.includes(challengeId),
    )
    const isDenied = phase === 'DEAD' && String(transfer.value) === amountOf(auth) && !isTold
    if (isDenied || !forgiven.payment(key))
      world.violate(
        'I1',
        `the payment ${key.slice(-6)} has no receipt${isDenied ? ', and was given up' : ''}`,
      )
  }
}

/** What a payment takes: the charge of a metered call, or the value that was signed. */
const amountOf = (auth: object): unknown =>
  'charge' in auth ? auth.charge : 'value' in auth ? auth.value : undefined

/** I5, I6: each refund returns one receipt, once, to its payer, and no more than came. */
function checkRefunds(scene: Scene): void {
  const { world, transfers, income, refunds, chains } = scene
  const networks = new Map(chains.map(({ network }) => [network.chainId, network]))
  // Of the payments on the chain, not of the receipts: a store may lose those.
  const nonces = new Map(
    [...income].map(([key, { chainId }]) => [simRefundNonce(key, networks.get(chainId)!), key]),
  )
  const returned = new Set<string>()
  for (const { from, to, value, nonce, chainId } of transfers) {
    if (from !== REFUND_WALLET && from !== PAY_TO) continue
    const key = nonces.get(nonce)
    const payment = key === undefined ? undefined : income.get(key)
    if (key === undefined || !payment) {
      world.violate('I5', `a refund of ${value} to ${to.slice(-3)} returns nothing that came in`)
      continue
    }
    if (returned.has(key)) world.violate('I5', `receipt ${key.slice(-6)} was refunded twice`)
    returned.add(key)
    if (chainId !== payment.chainId)
      world.violate('I6', `${key.slice(-6)} came on chain ${payment.chainId} and went back on ${chainId}`)
    if (to !== payment.from || value > payment.value) {
      world.violate(
        'I6',
        `${value} went to ${to.slice(-3)} for ${payment.value} from ${payment.from.slice(-3)}`,
      )
    }
  }
  // An operator pays a failed refund by hand, so the record must agree with the chain.
  for (const refund of refunds.values()) {
    const { key, phase } = refund
    if (returned.has(key) !== (phase === 'DONE')) {
      world.violate(
        'I5',
        `the refund of ${key.slice(-6)} is ${phase}, ${returned.has(key) ? '' : 'not '}on the chain`,
      )
    }
  }
}

/** I8: nothing is delivered for a payment that was used in a block before the claim. */
function checkClaims({ world, income, recorded, outside, authorizations, forgiven }: Scene): void {
  for (const { key, auth, payer } of authorizations) {
    const transfer = income.get(key)
    const claimedAt = recorded.claimedAt.get(key)
    if (!transfer || claimedAt === undefined || transfer.block.minedAt >= claimedAt) continue
    // An earlier claim, which was lost, may have been before the use.
    if (forgiven.payment(key)) continue
    // A node that showed an older block hid the use, so the engine could not know.
    if (outside.staleLooks.has(`${payer}:${auth.nonce ?? auth.serial}`))
      world.count('used before, seen stale')
    else
      world.violate(
        'I8',
        `${key.slice(-6)} was used ${claimedAt - transfer.block.minedAt} ms before its claim`,
      )
  }
}
