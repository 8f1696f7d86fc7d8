import type { ChallengeRow } from '../../../src/ports.ts'
import { readReceipt } from '../ports/sim-receipts.ts'
import type { Scene } from './scene.ts'

/** I18: what a receipt says is on the chain. When receipts come and change is checked at every step: `watchReceipts`. */
export function checkSignedReceipts(scene: Scene): void {
  const jwses = new Set<string>()
  for (const challenge of scene.challenges.values()) {
    const { key, state, signedReceipt, signedRefund } = challenge
    for (const jws of [signedReceipt, signedRefund]) {
      if (jws === undefined) continue
      if (jwses.has(jws)) scene.world.violate('I18', `the receipt of ${key} belongs to another sale as well`)
      jwses.add(jws)
    }
    if (scene.forgiven.challenge(key)) continue
    if (state === 'DELIVERED') checkSale(scene, challenge)
    if (state === 'REFUNDED') checkRefund(scene, challenge)
  }
}

function checkSale({ world, income, receipts }: Scene, challenge: ChallengeRow): void {
  const { key, signedReceipt, receipt: receiptKey } = challenge
  // It cost nothing, so there is no payment that a receipt could name.
  if (challenge.chargedUnits === '0') return
  const receipt = receipts.get(receiptKey ?? '')
  if (signedReceipt === undefined || !receipt) {
    world.violate('I18', `${key} was delivered without a receipt`)
    return
  }
  world.count('receipts of sales')
  const { payer, network, transaction } = readReceipt(signedReceipt)
  if (payer !== receipt.payer || transaction !== receipt.txHash || network !== challenge.network)
    world.violate('I18', `the receipt of ${key} differs from its payment`)
  // The chain dropped the payment after the delivery, so there is nothing to compare with.
  if (receipt.lost) return
  const paid = income.get(receipt.key)
  const same = paid?.from === payer && paid.txHash === transaction && network === `eip155:${paid.chainId}`
  if (!same) world.violate('I18', `the receipt of ${key} says what is not on the chain`)
}

function checkRefund({ world, income, transfers }: Scene, challenge: ChallengeRow): void {
  const { key, signedRefund, receipt } = challenge
  if (signedRefund === undefined) {
    world.violate('I18', `${key} was refunded without a receipt`)
    return
  }
  world.count('receipts of refunds')
  const said = readReceipt(signedRefund)
  const paid = income.get(receipt ?? '')
  const back = transfers.find(
    ({ txHash, to, chainId, value }) =>
      txHash === said.refundTransaction &&
      to === said.payer &&
      chainId === paid?.chainId &&
      String(value) === said.amount,
  )
  const same =
    paid?.from === said.payer &&
    paid.txHash === said.transaction &&
    said.network === `eip155:${paid.chainId}` &&
    said.type === 'refund'
  if (!same || !back)
    world.violate('I18', `the receipt of the refund of ${key} says what is not on the chain`)
}
