import type { Put, RefundRow, RefundSigner, Signed, SignedFacts, Use } from '../../ports.ts'
import { matchesTransfer } from '../../rules/judge-attempt.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { type Core, commit, getOne } from '../core.ts'
import { outboxRow } from '../deliver/outbox.ts'
import { refundReceiptFields } from '../deliver/sign-receipt.ts'
import { pruneAt } from '../jobs/retention.ts'
import type { OpenRail } from '../rails.ts'
import { finalUses } from '../settle/final-uses.ts'
import { refuseDoubtful } from '../settle/look-at-chain.ts'
import { refundEntry } from './refund-rows.ts'
import { type SendableRefund, submitRefunds } from './submit-refunds.ts'

/** Continues refunds: signs and sends those that wait, and decides from the chain those that were sent. */
export async function runRefunds(core: Core, rail: OpenRail, rows: readonly RefundRow[]): Promise<void> {
  await resolveRefunds(
    core,
    rail,
    rows.filter((row) => row.phase === 'BROADCAST'),
  )
  await sendRefunds(
    core,
    rail,
    rows.filter((row) => row.phase === 'WAITING'),
  )
}

async function sendRefunds(core: Core, rail: OpenRail, waiting: readonly RefundRow[]): Promise<void> {
  if (waiting.length === 0) return
  const receipts = await core.store.get(
    'receipts',
    waiting.map((row) => row.key),
  )
  // Not before the receipt is final: otherwise a reorganisation could remove the payment and keep the refund.
  const ready = waiting.flatMap((row, index) => {
    // A reorganisation may have moved the payment to a lower block than the one stored in the intent.
    const fromHeight = Math.min(row.fromHeight, receipts[index]?.blockNumber ?? row.fromHeight)
    return receipts[index]?.finalized ? [{ ...row, fromHeight }] : []
  })
  if (ready.length === 0) return
  const signer = rail.refundSigner
  if (!signer) {
    rail.alerts.raise('refund-key-missing', `${ready.length} refunds wait for refundWalletPrivateKey`)
    return
  }
  const { latest } = await rail.chain.head()
  await refuseDoubtful(core, rail, latest)
  const signed = await signAll(core, signer, ready, latest.timestamp)
  if (signed.length === 0) return
  const { results } = await rail.scheme.simulate(signed.map(({ auth }) => auth))
  const sendable: SendableRefund[] = []
  await Promise.all(
    signed.map(async ({ row, auth }, index) => {
      const result = results[index]!
      if (result.kind === 'fails') return failAttempt(core, row, result.reason)
      // Its nonce is used: this refund was sent before, by this installation or by an earlier one that lost its
      // store.
      if (result.kind === 'used') return void (await putRefund(core, { ...row, phase: 'BROADCAST', auth }))
      sendable.push({ row, auth, alone: result.alone })
    }),
  )
  await submitRefunds(core, rail, sendable)
}

/** One that cannot be signed fails by itself: it must not keep back the others. */
async function signAll(
  core: Core,
  signer: RefundSigner,
  rows: readonly RefundRow[],
  chainTime: number,
): Promise<Array<{ row: RefundRow; auth: Signed }>> {
  const signed = await Promise.all(
    rows.map(async (row) => {
      const { key: receiptKey, recipient, value } = row
      try {
        return [{ row, auth: await signer.sign({ receiptKey, recipient, value }, chainTime) }]
      } catch (cause) {
        const why = cause instanceof Error ? cause.message.split('\n')[0] : 'unknown'
        await failAttempt(core, row, `it cannot be signed: ${why}`)
        return []
      }
    }),
  )
  return signed.flat()
}

async function resolveRefunds(core: Core, rail: OpenRail, rows: readonly RefundRow[]): Promise<void> {
  const sent = rows.flatMap((row) => (row.auth ? [{ row, signed: rail.scheme.factsOf(row.auth) }] : []))
  if (sent.length === 0) return
  const fromHeight = Math.min(...sent.map(({ row }) => row.fromHeight))
  const keys = sent.map(({ signed }) => signed.key)
  const { found, finalized } = await finalUses(core, rail, keys, fromHeight)
  const uses = new Map(found.map((use) => [use.key, use]))
  const walletTxs = await core.store.get(
    'walletTxs',
    sent.map(({ row }) => row.walletTx ?? ''),
  )
  const unattended: RefundRow[] = []
  await Promise.all(
    sent.map(async ({ row, signed }, index) => {
      const use = uses.get(signed.key)
      if (use) return decideRefund(core, row, signed, use, finalized.number)
      if (BigInt(finalized.timestamp) >= BigInt(signed.validBefore))
        return failAttempt(core, row, 'the refund expired unsent')
      // No wallet transaction of ours carries it any more.
      if (row.walletTx === null || walletTxs[index]?.phase === 'REPLACED') unattended.push(row)
    }),
  )
  await sendAgain(core, rail, unattended)
}

/** Sends the same authorization again, if it is still valid and the chain would accept it. */
async function sendAgain(core: Core, rail: OpenRail, rows: readonly RefundRow[]): Promise<void> {
  const signed = rows.flatMap(
    (row): Array<{ row: RefundRow; auth: Signed }> => (row.auth ? [{ row, auth: row.auth }] : []),
  )
  if (signed.length === 0) return
  const { results } = await rail.scheme.simulate(signed.map(({ auth }) => auth))
  const sendable = signed.flatMap(({ row, auth }, index) => {
    const result = results[index]!
    return result.kind === 'ok' ? [{ row, auth, alone: result.alone }] : []
  })
  await submitRefunds(core, rail, sendable)
}

async function decideRefund(
  core: Core,
  row: RefundRow,
  signed: SignedFacts,
  use: Use,
  finalized: number,
): Promise<void> {
  const final = use.block.number <= finalized
  if (use.kind === 'transfer' && matchesTransfer(signed, use)) {
    if (final) return finishRefund(core, row, use)
    if (row.txHash !== use.txHash) await putRefund(core, { ...row, txHash: use.txHash })
    return
  }
  if (final) await giveUp(core, row, 'the refund nonce was cancelled or spent elsewhere')
}

/** REFUNDED only from a finalized block. */
async function finishRefund(core: Core, row: RefundRow, use: Use): Promise<void> {
  const challenge = await getOne(core, 'challenges', row.challengeId)
  if (!challenge) throw new Error(`refund ${row.key} names no stored challenge`)
  const at = core.clock.now()
  const facts = { at, actor: 'gateway' as const, txHash: use.txHash, details: { value: row.value } }
  const puts: Put[] = [{ table: 'refunds', row: { ...row, phase: 'DONE', txHash: use.txHash, dueAt: null } }]
  // If it is no longer REFUND_PENDING, another instance was first and this is a conflict, or a failover lost the
  // state.
  if (!row.movesState || challenge.state !== 'REFUND_PENDING') {
    await commit(core, {
      puts,
      audit: [refundEntry(challenge, row, 'refunded', facts)],
    })
    return
  }
  const change = {
    refundTxHash: use.txHash,
    dueAt: pruneAt(core, challenge.paidAt),
    ...refundReceiptFields(core, challenge, row, use.txHash, at),
  }
  const done = applyEvent(challenge, 'refund-confirmed', facts, change)
  puts.push(putChallenge(done.row))
  if (core.hooks.onRefund) puts.push({ table: 'outbox', row: outboxRow(challenge.key, 'refunded', at) })
  await commit(core, { puts, audit: done.audit })
}

/** One try has certainly failed: the next waits twice as long, and after the last the operator is asked. */
async function failAttempt(core: Core, row: RefundRow, reason: string): Promise<void> {
  const attempts = row.attempts + 1
  if (attempts >= core.config.refundMaxAttempts) return giveUp(core, { ...row, attempts }, reason)
  const dueAt = core.clock.now() + core.config.refundIntervalMs * 2 ** (attempts - 1)
  await putRefund(core, { ...row, phase: 'WAITING', walletTx: null, attempts, reason, dueAt })
}

async function giveUp(core: Core, row: RefundRow, reason: string): Promise<void> {
  const challenge = await getOne(core, 'challenges', row.challengeId)
  if (!challenge) throw new Error(`refund ${row.key} names no stored challenge`)
  const facts = { at: core.clock.now(), actor: 'gateway' as const, details: { reason, value: row.value } }
  const puts: Put[] = [{ table: 'refunds', row: { ...row, phase: 'FAILED', reason, dueAt: null } }]
  let audit = [refundEntry(challenge, row, 'refund-failed', facts)]
  if (row.movesState && challenge.state === 'REFUND_PENDING') {
    const failed = applyEvent(challenge, 'refund-failed', facts, { dueAt: null })
    puts.push(putChallenge(failed.row))
    audit = failed.audit
  }
  if (await commit(core, { puts, audit })) {
    core.rails
      .of(row)
      .alerts.raise(
        'refund-failed',
        `refund of ${row.value} to ${row.recipient} (challenge ${row.challengeId}): ${reason}`,
      )
  }
}

async function putRefund(core: Core, row: RefundRow): Promise<boolean> {
  return commit(core, { puts: [{ table: 'refunds', row }] })
}
