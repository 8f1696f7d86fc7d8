import { decodeJsonObject } from '../protocol/base64.ts'
import { allowanceError } from './allowance-error.ts'
import { errorBodyOf, receiptOf } from './answers.ts'
import { type ApproveContext, approvePermit2 } from './approve-permit2.ts'
import { readDocument } from './capped-body.ts'
import type { StoredPayment } from './payment-storage.ts'
import { sendUntilDecided, type Waiting } from './send-until-decided.ts'
import { type SignedPermit, signedPermit } from './signed-payment.ts'

export type { ApproveContext } from './approve-permit2.ts'

type Sending = Parameters<typeof sendUntilDecided>[1]

/** The seller's node may be some blocks behind the one that showed the approval. */
const MAX_REPEATS = 6
const REPEAT_AFTER_MS = 1_000

/**
 * Sends a payment until its outcome is known. If the payer has not approved the token for Permit2, that is done where
 * the caller allows it, and the same payment is sent again.
 */
export async function sendApproved(
  context: Waiting & ApproveContext,
  sending: Sending,
  paid: { payment: StoredPayment; resumed: boolean },
  deadlineMs: number,
): Promise<Response> {
  const permit = signedPermit(paid.payment)
  let response = await sendUntilDecided(context, sending, paid, deadlineMs)
  if (!permit || !lacksAllowance(response)) return response
  await approve(context, paid.payment, permit, { response, sending, deadlineMs })
  for (let repeats = 0; lacksAllowance(response); repeats++) {
    if (repeats === MAX_REPEATS || context.clock.now() + REPEAT_AFTER_MS > deadlineMs) {
      const why = 'the chain shows that it has, and the seller does not see it yet'
      throw allowanceError(paid.payment, permit, why, sending.requestId)
    }
    if (repeats > 0) await context.clock.sleep(REPEAT_AFTER_MS)
    sending.signal?.throwIfAborted()
    response = await sendUntilDecided(context, sending, { ...paid, resumed: true }, deadlineMs)
  }
  return response
}

async function approve(
  context: Waiting & ApproveContext,
  payment: StoredPayment,
  permit: SignedPermit,
  { response, sending, deadlineMs }: { response: Response; sending: Sending; deadlineMs: number },
): Promise<void> {
  const gateway = errorBodyOf((await readDocument(response)) ?? '')
  const { requestId, signal } = sending
  if (!context.approval) throw allowanceError(payment, permit, undefined, requestId, gateway)
  const { amountMicro } = context.approval
  if (amountMicro !== undefined && amountMicro < BigInt(payment.amount)) {
    throw allowanceError(
      payment,
      permit,
      'approvePermit2 allows less than this call may cost',
      requestId,
      gateway,
    )
  }
  const why = await approvePermit2(context, payment, permit, { deadlineMs, signal })
  if (why !== undefined) throw allowanceError(payment, permit, why, requestId, gateway)
}

const CODE = 'permit2_allowance_required'

/** Does the seller say that Permit2 may not move as much as was signed? A backend can answer 412 for reasons of its own. */
function lacksAllowance(response: Response): boolean {
  if (response.status !== 412) return false
  const required = decodeJsonObject(response.headers.get('payment-required') ?? '')
  const said = [response.headers.get('x-svc-code'), receiptOf(response)?.errorReason, required?.error]
  return said.some((word) => typeof word === 'string' && word.toLowerCase() === CODE)
}
