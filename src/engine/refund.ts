import type { Put, RefundRow, RefundSigner, SignedAuthorization, Use } from '../ports.ts'
import { matchesTransfer } from '../rules/judge-attempt.ts'
import { applyEvent, auditEntry, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne } from './core.ts'
import { finalUses } from './final-uses.ts'
import { refuseDoubtful } from './look-at-chain.ts'
import { outboxRow } from './outbox.ts'
import { pruneAt } from './retention.ts'
import { type SendableRefund, submitRefunds } from './submit-refunds.ts'

/** How long a refund's authorization is valid. Longer waits only delay the next try of one that cannot land. */
const REFUND_VALIDITY_SECONDS = 900

/** Moves refunds on: signs and sends those that wait, and decides those that were sent, from the chain. */
export async function runRefunds(core: Core, rows: readonly RefundRow[]): Promise<void> {
  await resolveRefunds(
    core,
    rows.filter((row) => row.phase === 'BROADCAST'),
  )
  await sendRefunds(
    core,
    rows.filter((row) => row.phase === 'WAITING'),
  )
}

async function sendRefunds(core: Core, waiting: readonly RefundRow[]): Promise<void> {
  if (waiting.length === 0) return
  const receipts = await core.store.get(
    'receipts',
    waiting.map((row) => row.key),
  )
  // Never before the receipt is final: a reorganisation could take the payment back and leave the refund.
  const ready = waiting.flatMap((row, index) => {
    // A reorganisation may have moved the payment down, below where the intent was to look from.
    const fromHeight = Math.min(row.fromHeight, receipts[index]?.blockNumber ?? row.fromHeight)
    return receipts[index]?.finalized ? [{ ...row, fromHeight }] : []
  })
  if (ready.length === 0) return
  const signer = core.refundSigner
  if (!signer) {
    core.alerts.raise('refund-key-missing', `${ready.length} refunds wait for refundWalletPrivateKey`)
    return
  }
  const { latest } = await core.chain.head()
  await refuseDoubtful(core, latest)
  const signed = await Promise.all(
    ready.map(async (row) => ({ row, auth: await signRefund(signer, row, latest.timestamp) })),
  )
  const { results } = await core.chain.simulate(signed.map(({ auth }) => auth))
  const sendable: SendableRefund[] = []
  await Promise.all(
    signed.map(async ({ row, auth }, index) => {
      const result = results[index]!
      if (result.kind === 'fails') return failAttempt(core, row, result.reason)
      // Its nonce is spent: this refund was sent before, by us or by a life of ours that lost its store.
      if (result.kind === 'used') return void (await putRefund(core, { ...row, phase: 'BROADCAST', auth }))
      sendable.push({ row, auth, alone: result.alone })
    }),
  )
  await submitRefunds(core, sendable)
}

async function signRefund(
  signer: RefundSigner,
  row: RefundRow,
  chainTime: number,
): Promise<SignedAuthorization> {
  const auth = {
    from: signer.address,
    to: row.recipient,
    value: row.value,
    validAfter: '0',
    validBefore: String(chainTime + REFUND_VALIDITY_SECONDS),
    nonce: signer.nonceOf(row.key),
  }
  return { ...auth, signature: await signer.sign(auth) }
}

async function resolveRefunds(core: Core, sent: readonly RefundRow[]): Promise<void> {
  if (sent.length === 0) return
  const keys = sent.map((row) => ({ payer: row.auth!.from, nonce: row.auth!.nonce }))
  const { found, finalized } = await finalUses(core, keys, Math.min(...sent.map((row) => row.fromHeight)))
  const uses = new Map(found.map((use) => [`${use.key.payer}:${use.key.nonce}`, use]))
  const walletTxs = await core.store.get(
    'walletTxs',
    sent.map((row) => row.walletTx ?? ''),
  )
  const unattended: RefundRow[] = []
  await Promise.all(
    sent.map(async (row, index) => {
      const auth = row.auth!
      const use = uses.get(`${auth.from}:${auth.nonce}`)
      if (use) return decideRefund(core, row, auth, use, finalized.number)
      if (BigInt(finalized.timestamp) >= BigInt(auth.validBefore))
        return failAttempt(core, row, 'the refund expired unsent')
      // Nothing else keeps it moving.
      if (row.walletTx === null || walletTxs[index]?.phase === 'REPLACED') unattended.push(row)
    }),
  )
  await sendAgain(core, unattended)
}

/** The very same authorization, as long as it is valid and the chain would still take it. */
async function sendAgain(core: Core, rows: readonly RefundRow[]): Promise<void> {
  if (rows.length === 0) return
  const { results } = await core.chain.simulate(rows.map((row) => row.auth!))
  const sendable = rows.flatMap((row, index) => {
    const result = results[index]!
    return result.kind === 'ok' ? [{ row, auth: row.auth!, alone: result.alone }] : []
  })
  await submitRefunds(core, sendable)
}

async function decideRefund(
  core: Core,
  row: RefundRow,
  auth: SignedAuthorization,
  use: Use,
  finalized: number,
): Promise<void> {
  const final = use.block.number <= finalized
  if (use.kind === 'transfer' && matchesTransfer(auth, use)) {
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
  // No longer REFUND_PENDING: another instance was first, and this is a conflict; or a failover lost who had it.
  if (!row.movesState || challenge.state !== 'REFUND_PENDING') {
    await commit(core, { puts, audit: [auditEntry(challenge, 'surplus-refunded', facts)] })
    return
  }
  const change = { refundTxHash: use.txHash, dueAt: pruneAt(core, challenge.paidAt) }
  const done = applyEvent(challenge, 'refund-confirmed', facts, change)
  puts.push(putChallenge(done.row))
  if (core.hooks.onRefund) puts.push({ table: 'outbox', row: outboxRow(challenge.key, 'refunded', at) })
  await commit(core, { puts, audit: done.audit })
}

/** One try came to nothing, for certain: wait longer each time, then ask the operator. */
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
  let audit = [auditEntry(challenge, 'surplus-refund-failed', facts)]
  if (row.movesState && challenge.state === 'REFUND_PENDING') {
    const failed = applyEvent(challenge, 'refund-failed', facts, { dueAt: null })
    puts.push(putChallenge(failed.row))
    audit = failed.audit
  }
  if (await commit(core, { puts, audit })) {
    core.alerts.raise(
      'refund-failed',
      `refund of ${row.value} to ${row.recipient} (challenge ${row.challengeId}): ${reason}`,
    )
  }
}

async function putRefund(core: Core, row: RefundRow): Promise<boolean> {
  return commit(core, { puts: [{ table: 'refunds', row }] })
}
