import type { Intent, Payment, RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { type AccessRequest, AccessRequestSchema } from '../../protocol/access.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import { rememberSmallBodies } from './known-bodies.ts'
import { headerOf } from './native-request.ts'
import { type BodyLimits, decodeBody, readBytes, unfitBody } from './read-body.ts'
import { readRequestId } from './read-request-id.ts'

export type DecodedAccess =
  /** `isProbe`: the request was empty. */
  | { kind: 'intent'; intent: Intent; isProbe?: true }
  /** Neither body nor payment says what is to be bought. */
  | { kind: 'nothing-asked' }
  /** Not for us, but for A2A. */
  | { kind: 'json-rpc'; text: string }
  | { kind: 'fault'; error: GatewayError; httpStatus?: number }

/**
 * Turns `POST /x402/access` into an intent. Ids are checked for their spelling only; the engine judges them.
 *
 * @param probed what a request without a single byte and without a payment asks for: that is how agents and directories
 * find out the terms of an address that they know nothing else about
 */
export async function decodeAccess(
  request: Request,
  limits: BodyLimits,
  payment: Payment | undefined,
  probed?: Pick<AccessRequest, 'planId'>,
): Promise<DecodedAccess> {
  const read = await readBytes(request, limits)
  if (read.kind === 'fault') return read
  if (probed && !payment && read.bytes.byteLength === 0) {
    const decoded = accessIntent(probed, undefined, 'http', headerOf(request, 'idempotency-key'))
    return decoded.kind === 'intent' ? { ...decoded, isProbe: true } : decoded
  }
  const asked = decodeAsked(read.bytes)
  if (asked.kind !== 'asked') return asked
  return accessIntent(asked.body, payment, 'http', headerOf(request, 'idempotency-key'))
}

type Asked = { kind: 'asked'; body: Readonly<AccessRequest> }
type NotAsked = Exclude<DecodedAccess, { kind: 'intent' }>

const decodeAsked = rememberSmallBodies<Asked | NotAsked>(
  (bytes) => {
    const read = decodeBody(bytes)
    if (read.kind === 'fault') return read
    if (JSON_RPC.test(read.text) && isJsonRpc(read.text)) return { kind: 'json-rpc', text: read.text }
    const body = parseBody(read.text)
    if (body instanceof GatewayError) return { kind: 'fault', error: body }
    return { kind: 'asked', body: Object.freeze(body) }
  },
  (decoded) =>
    decoded.kind === 'asked' &&
    decoded.body.requestId === undefined &&
    decoded.body.challengeId === undefined,
)

// Most bodies do not contain the word, and need not be parsed twice.
const JSON_RPC = /"jsonrpc"/

function isJsonRpc(text: string): boolean {
  try {
    return JSON.parse(text)?.jsonrpc === '2.0'
  } catch {
    return false
  }
}

function parseBody(text: string): AccessRequest | GatewayError {
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const position = /position (\d+)/.exec(String(error))?.[1]
    const where = position === undefined ? '' : ` (at position ${position})`
    return refuse(`the body is not valid JSON${where}; expected an object such as {"planId": "…"}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
    return refuse(`the body is ${found}; expected a JSON object such as {"planId": "…"}`)
  }
  const parsed = AccessRequestSchema.safeParse(value)
  if (!parsed.success) return refuse(`the body is malformed: ${nameFault(parsed.error)}`)
  if (parsed.data.planId !== undefined && parsed.data.routeId !== undefined) {
    return refuse('the body names planId and routeId; send one of them')
  }
  return parsed.data
}

/**
 * What the body leaves out is taken from the buyer's echo of our requirements. Where both speak, the body's word
 * goes on and the engine compares it with the echo: an authorization bound elsewhere must be reported first.
 */
export function accessIntent(
  body: AccessRequest,
  payment: Payment | undefined,
  transport: Intent['transport'],
  idempotencyKey: string | null = null,
): DecodedAccess {
  const given = readRequestId(body.requestId, payment, idempotencyKey)
  if (given instanceof GatewayError) return { kind: 'fault', error: given }
  const echo = payment?.echo
  const named = body.planId !== undefined || body.routeId !== undefined
  const planId = named ? body.planId : echo?.planId
  const routeId = named ? body.routeId : echo?.routeId
  const challengeId = body.challengeId ?? echo?.challengeId
  if (planId !== undefined && routeId !== undefined) {
    return {
      kind: 'fault',
      error: refuse('accepted.extra names planId and routeId; echo accepts[] unchanged'),
    }
  }
  // Of an A2A task everything else is stored.
  const findable = challengeId !== undefined && (payment !== undefined || transport === 'a2a')
  if (planId === undefined && routeId === undefined && !findable) return { kind: 'nothing-asked' }
  const { method, body: content } = body.resource ?? {}
  if ((method === 'GET' || method === 'HEAD') && content !== undefined)
    return { kind: 'fault', error: unfitBody(method, 'resource.body') }
  const intent: Intent = { transport }
  if (planId !== undefined) intent.planId = planId
  if (routeId !== undefined) intent.routeId = routeId
  if (challengeId !== undefined) intent.challengeId = challengeId
  const requestId = given ?? echo?.requestId
  if (requestId !== undefined) intent.requestId = requestId
  const resourceId = body.resourceId ?? echo?.resourceId
  if (resourceId !== undefined) intent.resourceId = resourceId
  if (body.resource !== undefined) intent.call = callOf(body.resource)
  if (body.clientAgentId !== undefined) intent.clientAgentId = body.clientAgentId
  if (payment !== undefined) intent.payment = payment
  return { kind: 'intent', intent }
}

/** The call as it goes to the backend: a body in the JSON envelope is sent as JSON. */
function callOf({ method, path, body }: NonNullable<AccessRequest['resource']>): RouteCall {
  if (body === undefined) return { method, path, headers: {}, body: null }
  return {
    method,
    path,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  }
}

function refuse(message: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', message)
}
