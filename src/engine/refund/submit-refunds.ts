import type { Batch, RefundRow, Sent, Settlement, Signed } from '../../ports.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import type { OpenRail } from '../rails.ts'

/** A signed refund that the chain would take. */
export interface SendableRefund {
  row: RefundRow
  auth: Signed
  /** Must not share a transaction. */
  alone: boolean
}

const NONCE_RACES = 8

/**
 * T4, the broadcast of refunds: signed refunds are stored with the wallet's transaction before anything is sent.
 * Refunds that wait together share a transaction; one that failed before goes alone. If another process also sent the
 * same authorization, that does no harm: the token accepts its nonce once.
 */
export async function submitRefunds(
  core: Core,
  rail: OpenRail,
  refunds: readonly SendableRefund[],
): Promise<void> {
  if (refunds.length === 0) return
  const submitter = await chooseSubmitter(rail)
  // The operator got an alert with the reason; the refunds are tried again when they are due.
  if (!submitter) return
  let left = new Map(refunds.map((refund) => [refund.row.key, refund]))
  for (let race = 0; left.size > 0 && race < NONCE_RACES; race++) {
    const batches = await submitter.makeBatches(
      [...left.values()].map(({ row, auth, alone }) => {
        const member = { kind: 'refund' as const, key: row.key }
        return { member, signed: auth, alone, batchLimit: row.attempts > 0 ? 1 : null }
      }),
    )
    const again = new Map<string, SendableRefund>()
    await Promise.all(
      batches.map(async (batch) => {
        const members = batch.keys.map((key) => left.get(key)!)
        for (const member of await storeAndSend(core, rail, batch, members)) again.set(member.row.key, member)
      }),
    )
    left = again
  }
}

/** In this order: the gas wallet, the refund wallet if it holds ETH, the facilitator. Chosen again each time. */
async function chooseSubmitter({ refundSubmitters }: OpenRail): Promise<Settlement | undefined> {
  for (const submitter of refundSubmitters) {
    if ((await submitter.unavailable()) === undefined) return submitter
  }
  return undefined
}

/** Returns the refunds that must be tried again. */
async function storeAndSend(
  core: Core,
  rail: OpenRail,
  batch: Batch,
  members: readonly SendableRefund[],
): Promise<SendableRefund[]> {
  const rows = members.map(({ row, auth }): RefundRow => {
    return { ...row, phase: 'BROADCAST', auth, walletTx: batch.walletTx }
  })
  const puts = rows.map((row) => ({ table: 'refunds' as const, row }))
  const result = await core.store.commit({ puts: [...puts, ...batch.puts] })
  if (result.kind === 'applied') {
    const refusal = refusalIn(await batch.send())
    if (refusal !== undefined)
      for (const row of rows) await reportRefusal(core, rail, afterCommit(row), refusal)
    return []
  }
  batch.drop()
  // A refund that another process took over is dropped; the others, and batches that lost a nonce, are tried again.
  return members.filter(({ row }) => result.table !== 'refunds' || result.key !== row.key)
}

/** Every refusal counts here, even one that does not prove that nothing was sent: the operator may have to act. */
function refusalIn(sent: Sent): string | undefined {
  if (sent.kind === 'refused') return sent.reason
  return sent.kind === 'unknown' ? sent.declined : undefined
}

/**
 * Alerts the operator to the first refusal of a refund. Nothing else follows from it: the chain decides the refund,
 * and until then it is sent again by the first submitter that can.
 */
async function reportRefusal(core: Core, rail: OpenRail, row: RefundRow, reason: string): Promise<void> {
  if (row.refusal) return
  const wallet = row.auth && rail.scheme.factsOf(row.auth).payer
  rail.alerts.raise(
    'refund-refused',
    `the facilitator does not send the refund of ${row.value} to ${row.recipient} (challenge ${row.challengeId}): ${reason}. ` +
      `It is asked again; send some ${rail.network.native.symbol} to the refund wallet ${wallet}, and that sends refunds itself`,
  )
  // The alert comes before the commit: a crash in between repeats the alert, and never loses it.
  await commit(core, { puts: [{ table: 'refunds', row: { ...row, refusal: reason } }] })
}
