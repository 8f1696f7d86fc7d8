import { GatewayError } from '../../errors.ts'
import type { ChallengeRow, Put, RefundRow } from '../../ports.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { type Hex, sameHex } from '../../protocol/hex.ts'
import { transferKey } from '../../rules/transfer-key.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { statusOf } from '../challenge/inspect.ts'
import { type Core, commit, getOne } from '../core.ts'
import { outboxRow } from '../deliver/outbox.ts'
import { refundReceiptFields } from '../deliver/sign-receipt.ts'
import { pruneAt } from '../jobs/retention.ts'
import type { OpenRail } from '../rails.ts'
import { finalUses } from '../settle/final-uses.ts'
import { isCreditsRefund, refundEntry } from './refund-rows.ts'

/**
 * REFUND_FAILED → REFUNDED: the operator made the refund and names its transaction. The refund of unspent credits is
 * proven in the same way, and its sale stays DELIVERED. The transaction must be in a
 * finalized block, pay exactly this refund and prove no other one. The refund that we signed must not be able to land
 * any more, or the buyer could be paid twice.
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
  if (!challenge) {
    const message = `No challenge ${challengeId.slice(0, 80)} is known.`
    return new GatewayError('CHALLENGE_NOT_FOUND', message)
  }
  const refund = challenge.receipt ? await getOne(core, 'refunds', challenge.receipt) : undefined
  if (!refund)
    return refuse(
      `Challenge ${challengeId} is ${challenge.state} and no refund of its payment has failed; only failed ones are resolved by hand.`,
    )
  if (isCreditsRefund(challenge, refund)) {
    if (refund.phase !== 'FAILED')
      return refuse(
        `The refund of the unspent credits of ${challengeId} is ${refund.phase}; only one that has FAILED is resolved by hand.`,
      )
  } else if (challenge.state !== 'REFUND_FAILED') {
    return refuse(`Challenge ${challengeId} is ${challenge.state}; only REFUND_FAILED is resolved by hand.`)
  }
  const rail = core.rails.of(refund)
  const living = await refundThatMayLand(core, rail, refund)
  if (living) return refuse(living)
  const found = await findPayment(core, rail, refund, hash as Hex)
  if ('fault' in found) return refuse(found.fault)
  return finish(core, challenge, refund, hash as Hex, found.key)
}

/** Why the gateway's own refund was paid or could still be; undefined once it never can. */
async function refundThatMayLand(core: Core, rail: OpenRail, refund: RefundRow): Promise<string | undefined> {
  const signed = refund.auth && rail.scheme.factsOf(refund.auth)
  // Not signed according to this store. An earlier installation whose store was lost would have used the same key.
  const key = signed?.key ?? unsignedKey(rail, refund)
  if (key === undefined) return undefined
  const { found, finalized } = await finalUses(core, rail, [key], refund.fromHeight)
  const use = found[0]
  if (!use) {
    if (!signed || BigInt(finalized.timestamp) >= BigInt(signed.validBefore)) return undefined
    const until = new Date(Number(signed.validBefore) * 1000).toISOString()
    return `The refund that the gateway signed is valid until ${until} and may still land: wait until that time is in a finalized block, or cancel nonce ${signed.key.split(':').at(-1)} of ${signed.payer}.`
  }
  if (use.kind === 'transfer' && sameHex(use.to, refund.recipient) && use.value === refund.value) {
    return `The gateway's own refund is on the chain (${use.txHash}); retry the refund, and it is recorded.`
  }
  if (use.block.number > finalized.number) {
    return 'The nonce of the gateway’s own refund was cancelled, but its block is not final yet; try again later.'
  }
  return undefined
}

/** Undefined: the signer cannot sign a refund of this receipt, so none was ever sent. */
function unsignedKey({ refundSigner }: OpenRail, { key }: RefundRow): string | undefined {
  try {
    return refundSigner?.keyOf(key)
  } catch {
    return undefined
  }
}

/** The key of a plain transfer in this transaction that pays exactly this refund and has not proven another one. */
async function findPayment(
  core: Core,
  rail: OpenRail,
  refund: RefundRow,
  txHash: Hex,
): Promise<{ key: string } | { fault: string }> {
  const { recipient, value } = refund
  // The finalized block is read first: see finalUses.
  const { finalized } = await rail.chain.head()
  const { found } = await rail.transfers(txHash)
  if (!found) return { fault: `Transaction ${txHash} is in no block of ${rail.network.id}.` }
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
  const keys = paying.map(({ logIndex }) => transferKey(rail.network.chainId, txHash, logIndex))
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
  const rows = provenRows(challenge, refund, txHash, seenKey)
  if (isCreditsRefund(challenge, refund)) {
    const audit = [refundEntry(challenge, refund, 'refund-proven', facts)]
    return (await commit(core, { puts: rows, audit })) ? statusOf(challenge) : changedMeanwhile(challenge)
  }
  const change = {
    refundTxHash: txHash,
    dueAt: pruneAt(core, challenge.paidAt),
    ...refundReceiptFields(core, challenge, refund, txHash, at),
  }
  const proven = applyEvent(challenge, 'refund-proven', facts, change)
  const puts: Put[] = [putChallenge(proven.row), ...rows]
  if (core.hooks.onRefund) puts.push({ table: 'outbox', row: outboxRow(challenge.key, 'refunded', at) })
  if (await commit(core, { puts, audit: proven.audit })) return statusOf(proven.row)
  return changedMeanwhile(challenge)
}

function provenRows(challenge: ChallengeRow, refund: RefundRow, txHash: Hex, seenKey: string): Put[] {
  return [
    { table: 'refunds', row: { ...refund, phase: 'DONE', txHash, dueAt: null } },
    // The insert claims the transfer, so that it can prove no other refund.
    {
      table: 'seen',
      row: { key: seenKey, version: 0, ref: challenge.key, dueAt: null, receipt: refund.key },
    },
  ]
}

function changedMeanwhile({ key }: ChallengeRow): GatewayError {
  return new GatewayError('INTERNAL_ERROR', `Challenge ${key} changed meanwhile; try again.`, {
    challengeId: key,
  })
}
