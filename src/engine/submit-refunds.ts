import type { Parcel, RefundRow, Sent, Settlement, SignedAuthorization } from '../ports.ts'
import { type Core, commit, stored } from './core.ts'

/** A signed refund that the chain would take. */
export interface SendableRefund {
  row: RefundRow
  auth: SignedAuthorization
  /** Must not share a transaction. */
  alone: boolean
}

const NONCE_RACES = 8

/**
 * T4: signed intents are stored, with the wallet's transaction, before anything is sent. Refunds that wait together share
 * a transaction; one that came to nothing before goes by itself. Whoever else may have sent the same authorization does no
 * harm: the token takes its nonce once.
 */
export async function submitRefunds(core: Core, refunds: readonly SendableRefund[]): Promise<void> {
  if (refunds.length === 0) return
  const submitter = await chooseSubmitter(core)
  // The operator was told why; the refunds are looked at again when they are due again.
  if (!submitter) return
  let left = new Map(refunds.map((refund) => [refund.row.key, refund]))
  for (let race = 0; left.size > 0 && race < NONCE_RACES; race++) {
    const parcels = await submitter.pack(
      [...left.values()].map(({ row, auth, alone }) => {
        return { key: row.key, auth, alone, packLimit: row.attempts > 0 ? 1 : null }
      }),
    )
    const again = new Map<string, SendableRefund>()
    await Promise.all(
      parcels.map(async (parcel) => {
        const members = parcel.members.map((key) => left.get(key)!)
        for (const member of await storeAndSend(core, parcel, members)) again.set(member.row.key, member)
      }),
    )
    left = again
  }
}

/** In order: the gas wallet, the refund wallet if it holds ETH, the facilitator. Asked anew each time. */
async function chooseSubmitter({ settlement, refundSubmitters }: Core): Promise<Settlement | undefined> {
  for (const submitter of refundSubmitters ?? [settlement]) {
    if ((await submitter.unavailable()) === undefined) return submitter
  }
  return undefined
}

/** Answers those that must be packed again. */
async function storeAndSend(
  core: Core,
  parcel: Parcel,
  members: readonly SendableRefund[],
): Promise<SendableRefund[]> {
  const rows = members.map(({ row, auth }): RefundRow => {
    return { ...row, phase: 'BROADCAST', auth, walletTx: parcel.walletTx }
  })
  const puts = rows.map((row) => ({ table: 'refunds' as const, row }))
  const result = await core.store.commit({ puts: [...puts, ...parcel.puts] })
  if (result.kind === 'applied') {
    const refusal = refusalIn(await parcel.send())
    if (refusal !== undefined) for (const row of rows) await tellRefusal(core, stored(row), refusal)
    return []
  }
  parcel.drop()
  // A refund that somebody else took over drops out; the others, and lost nonces, go round again.
  return members.filter(({ row }) => result.table !== 'refunds' || result.key !== row.key)
}

/** Whatever it proves: it was said, and the operator may have to act. */
function refusalIn(sent: Sent): string | undefined {
  if (sent.kind === 'refused') return sent.reason
  return sent.kind === 'unknown' ? sent.declined : undefined
}

/**
 * The first refusal of a refund is told at once. Nothing else follows from it: the chain decides what became of the refund,
 * and until then it is offered again, to the first submitter that can send it by then.
 */
async function tellRefusal(core: Core, row: RefundRow, reason: string): Promise<void> {
  if (row.refusal) return
  const wallet = row.auth?.from
  core.alerts.raise(
    'refund-refused',
    `the facilitator does not send the refund of ${row.value} to ${row.recipient} (challenge ${row.challengeId}): ${reason}. ` +
      `It is asked again; send some ETH to the refund wallet ${wallet}, and that sends refunds itself`,
  )
  // Told before it is noted: a crash in between tells it twice, never not at all.
  await commit(core, { puts: [{ table: 'refunds', row: { ...row, refusal: reason } }] })
}
