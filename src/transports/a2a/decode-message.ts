import type { Message } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { z } from 'zod'
import { PAYLOAD_KEY, paymentOfMessage, STATUS_KEY, termsOfMessage } from '../../dialects/a2a-metadata.ts'
import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Intent, OfferedTerms, Payment } from '../../engine/outcome.ts'
import { type AccessRequest, AccessRequestSchema } from '../../protocol/access.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import { accessIntent } from '../http/decode-access.ts'
import { isUnopened } from './render-purchase.ts'
import { PROOF_TYPE, ProofSchema } from './transfer-proof.ts'

/** What a message wants. */
export type Ask =
  /** It names nothing to buy. */
  | { kind: 'catalog' }
  /** It belongs to a task and brings nothing new. */
  | { kind: 'look'; taskId: string }
  /** `offered`: the terms of an offer that may have no task yet. */
  | { kind: 'reject'; taskId: string; offered: OfferedTerms | undefined }
  /** `taskId`: the task that it says it continues. */
  | { kind: 'purchase'; intent: Intent; taskId: string | undefined }

/** Throws RequestMalformedError. Payload and proof never enter a message: they are as good as money. */
export function decodeMessage(
  message: Message,
  { transferProofs, x402 }: { transferProofs: boolean; x402: X402 },
): Ask {
  const status: unknown = message.metadata?.[STATUS_KEY]
  // The translation of 0.3 passes on whatever it is given.
  const named: Record<string, unknown> = { taskId: message.taskId, contextId: message.contextId }
  for (const [name, value] of Object.entries(named)) {
    if (typeof value !== 'string') refuse(`message.${name} is no text`)
  }
  const taskId = message.taskId === '' || isUnopened(message.taskId) ? undefined : message.taskId
  if (status === 'payment-rejected') {
    const offered = offeredIn(x402, message.metadata, () => callIn(message))
    const rejected = taskId ?? offered?.echo.challengeId
    if (rejected === undefined) {
      refuse(
        `payment-rejected needs message.taskId, or ${PAYLOAD_KEY} with the terms (accepted) that are not to be paid`,
      )
    }
    return { kind: 'reject', taskId: rejected, offered }
  }
  const payment = paymentIn(x402, message)
  const { access, proof } = partsOf(message)
  if (status === 'payment-submitted' && !payment && !proof) {
    refuse(`${STATUS_KEY} is payment-submitted, but metadata has no ${PAYLOAD_KEY}`)
  }
  if (proof) {
    if (!transferProofs) refuse(`this gateway takes no transfer hashes; pay by ${PAYLOAD_KEY}`)
    if (payment) refuse(`the message has both ${PAYLOAD_KEY} and a PaymentProof; send one of them`)
  }
  if (!access && !payment && !proof) return taskId ? { kind: 'look', taskId } : { kind: 'catalog' }
  const ids = [taskId, access?.challengeId, proof?.challengeId].filter((id) => id !== undefined)
  if (new Set(ids).size > 1) refuse('taskId and challengeId differ; they name the same thing')
  if (proof && ids.length === 0) refuse('the PaymentProof has no challengeId')
  const intent = intentOf({ ...access, challengeId: ids[0] }, payment)
  if (proof) {
    const { txHash, signature, network } = proof
    intent.proof = { txHash, signature, ...(network !== undefined && { network }) }
  }
  return { kind: 'purchase', intent, taskId }
}

/** The terms that the message repeats, and the call that they were offered for. */
export function offeredIn(
  x402: X402,
  metadata: Record<string, unknown> | undefined,
  call: () => OfferedTerms['call'] = () => undefined,
): OfferedTerms | undefined {
  const terms = termsOfMessage(x402, metadata)
  if (terms === undefined) return undefined
  if ('fault' in terms) refuse(`${PAYLOAD_KEY} ${terms.fault}`)
  const called = call()
  return { ...terms, ...(called && { call: called }) }
}

/** The call of a route, where the message repeats it. */
function callIn(message: Message): OfferedTerms['call'] {
  const { access } = partsOf(message)
  return access?.resource ? intentOf(access, undefined).call : undefined
}

function intentOf(request: AccessRequest, payment: Payment | undefined): Intent {
  const decoded = accessIntent(request, payment, 'a2a')
  switch (decoded.kind) {
    case 'intent':
      return decoded.intent
    case 'fault':
      return refuse(decoded.error.message)
    default:
      return refuse('the AccessRequest names neither planId nor routeId; GET /discover lists both')
  }
}

function paymentIn(x402: X402, { metadata }: Message): Payment | undefined {
  const payment = paymentOfMessage(x402, metadata)
  return payment && 'fault' in payment ? refuse(`${PAYLOAD_KEY} ${payment.fault}`) : payment
}

interface Parts {
  access?: AccessRequest
  proof?: z.infer<typeof ProofSchema>
}

function partsOf({ parts }: Message): Parts {
  const found: Parts = {}
  for (const { content } of parts) {
    if (content?.$case !== 'data') continue
    const data: unknown = content.value
    if (typeof data !== 'object' || data === null) refuse('a data part is no object')
    // Who names a plan and no type can only mean one thing.
    const type: unknown = 'type' in data ? data.type : 'AccessRequest'
    if (type === 'AccessRequest') found.access ??= parse(AccessRequestSchema, data, type)
    else if (type === PROOF_TYPE) found.proof ??= parse(ProofSchema, data, type)
    else
      refuse(
        `a data part has type ${JSON.stringify(type)?.slice(0, 80)}; expected AccessRequest or PaymentProof`,
      )
  }
  const { planId, routeId } = found.access ?? {}
  if (planId !== undefined && routeId !== undefined) {
    refuse('the AccessRequest names planId and routeId; send one of them')
  }
  return found
}

function parse<S extends z.ZodType>(schema: S, data: object, type: string): z.infer<S> {
  const parsed = schema.safeParse(data)
  return parsed.success ? parsed.data : refuse(`the ${type} is malformed: ${nameFault(parsed.error)}`)
}

function refuse(message: string): never {
  throw new RequestMalformedError(message)
}
