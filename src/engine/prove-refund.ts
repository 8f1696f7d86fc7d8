import { GatewayError } from '../errors.ts'
import type { ChallengeRow, Put, RefundRow } from '../ports.ts'
import type { ChallengeStatus } from '../protocol/access.ts'
import { type Hex, sameHex } from '../protocol/hex.ts'
import { transferKey } from '../rules/authorization-key.ts'
import { applyEvent, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne } from './core.ts'
import { finalUses } from './final-uses.ts'
import { statusOf } from './inspect.ts'
import { outboxRow } from './outbox.ts'
import { pruneAt } from './retention.ts'

/**
 * REFUND_FAILED → REFUNDED: the operator paid by hand and names the transaction. The chain must confirm it in a
 * finalized block, it must be worth exactly this refund and serve no other, and the refund that we signed before must
 * be unable to land any more: otherwise the buyer could be paid twice.
 */
export async function proveRefund(
  core: Core,
  challengeId: string,
  txHash: string,
): Promise<ChallengeStatus | GatewayError> {
  const hash = txHash.trim().toLowerCase()
  const refuse = (message: string) => new GatewayError('INVALID_REQUEST', message, { challengeId })
  if (!/^0x[0-9a-f]{64}$/.test(hash)) {
    return refuse('txHash is not a transaction hash; it has 0x and 64 hex digits.')
  }
  const challenge = await getOne(core, 'challenges', challengeId)
  const refund = challenge?.receipt ? await getOne(core, 'refunds', challenge.receipt) : undefined
  if (!challenge || !refund) {
    const message = `No challenge ${challengeId.slice(0, 80)} with a refund is known.`
    return new GatewayError('CHALLENGE_NOT_FOUND', message)
  }
  if (challenge.state !== 'REFUND_FAILED') {
    return refuse(`Challenge ${challengeId} is ${challenge.state}; only REFUND_FAILED is resolved by hand.`)
  }
  const living = await refundThatMayLand(core, refund)
  if (living) return refuse(living)
  const found = await findPayment(core, refund, hash as Hex)
  if ('fault' in found) return refuse(found.fault)
  return finish(core, challenge, refund, hash as Hex, found.key)
}

/** Why the gateway's own refund could still be, or was, paid; undefined once it never can. */
async function refundThatMayLand(core: Core, refund: RefundRow): Promise<string | undefined> {
  const { auth } = refund
  const signer = core.refundSigner
  // Never sent by this store; a life before a lost one would have used the same nonce.
  const from = auth?.from ?? signer?.address
  const nonce = auth?.nonce ?? signer?.nonceOf(refund.key)
  if (from === undefined || nonce === undefined) return undefined
  const { found, finalized } = await finalUses(core, [{ payer: from, nonce }], refund.fromHeight)
  const use = found[0]
  if (!use) {
    if (!auth || BigInt(finalized.timestamp) >= BigInt(auth.validBefore)) return undefined
    const until = new Date(Number(auth.validBefore) * 1000).toISOString()
    return `The refund that the gateway signed is valid until ${until} and may still land: wait until that time is in a finalized block, or cancel nonce ${nonce} of ${from}.`
  }
  if (use.kind === 'transfer' && sameHex(use.to, refund.recipient) && use.value === refund.value) {
    return `The gateway's own refund is on the chain (${use.txHash}); retry the refund, and it is recorded.`
  }
  if (use.block.number > finalized.number) {
    return 'The nonce of the gateway’s own refund was cancelled, but its block is not final yet; try again later.'
  }
  return undefined
}

/** The key of a plain transfer in this transaction that pays exactly this refund and was not named before. */
async function findPayment(
  core: Core,
  refund: RefundRow,
  txHash: Hex,
): Promise<{ key: string } | { fault: string }> {
  const { recipient, value } = refund
  // The finalized block first: see finalUses.
  const { finalized } = await core.chain.head()
  const { found } = await core.chain.transfers(txHash)
  if (!found) return { fault: `Transaction ${txHash} is in no block of ${core.config.network.id}.` }
  const paying = found.transfers.filter((one) => {
    return one.to === recipient && one.value === value && one.from !== recipient
  })
  if (paying.length === 0) {
    return { fault: `Transaction ${txHash} has no plain transfer of ${value} micro-units to ${recipient}.` }
  }
  if (found.block.number <= refund.fromHeight) {
    return { fault: `Transaction ${txHash} is older than the payment; it cannot be its refund.` }
  }
  if (found.block.number > finalized.number) {
    return {
      fault: `Transaction ${txHash} is in block ${found.block.number}, which is not final yet; try again later.`,
    }
  }
  const keys = paying.map(({ logIndex }) => transferKey(core.config.network.chainId, txHash, logIndex))
  const seen = await core.store.get('seen', keys)
  const unused = keys.find((_, index) => seen[index] === undefined)
  return unused ? { key: unused } : { fault: `Transaction ${txHash} was named for another refund already.` }
}

async function finish(
  core: Core,
  challenge: ChallengeRow,
  refund: RefundRow,
  txHash: Hex,
  seenKey: string,
): Promise<ChallengeStatus | GatewayError> {
  const at = core.clock.now()
  const facts = { at, actor: 'operator' as const, txHash, details: { value: refund.value } }
  const change = { refundTxHash: txHash, dueAt: pruneAt(core, challenge.paidAt) }
  const proven = applyEvent(challenge, 'refund-proven', facts, change)
  const puts: Put[] = [
    putChallenge(proven.row),
    { table: 'refunds', row: { ...refund, phase: 'DONE', txHash, dueAt: null } },
    // The insert claims the transfer: it proves this refund and no other.
    {
      table: 'seen',
      row: { key: seenKey, version: 0, ref: challenge.key, dueAt: null, receipt: refund.key },
    },
  ]
  if (core.hooks.onRefund) puts.push({ table: 'outbox', row: outboxRow(challenge.key, 'refunded', at) })
  if (await commit(core, { puts, audit: proven.audit })) return statusOf(proven.row)
  return new GatewayError('INTERNAL_ERROR', `Challenge ${challenge.key} changed meanwhile; try again.`, {
    challengeId: challenge.key,
  })
}
