import { randomUUID } from 'node:crypto'
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  type TaskStatus,
  TaskState as WireState,
} from '@a2a-js/sdk'
import { ERROR_KEY, RECEIPTS_KEY, REQUIRED_KEY, STATUS_KEY } from '../../dialects/a2a-metadata.ts'
import type { AccessGrant, ResourceResponse } from '../../protocol/access.ts'
import type { PaymentRequired, SettleResponse } from '../../protocol/payment.ts'

export type PaymentStatus =
  | 'payment-required'
  | 'payment-submitted'
  | 'payment-verified'
  | 'payment-completed'
  | 'payment-failed'
  | 'payment-rejected'

const STATES = {
  'input-required': WireState.TASK_STATE_INPUT_REQUIRED,
  working: WireState.TASK_STATE_WORKING,
  completed: WireState.TASK_STATE_COMPLETED,
  failed: WireState.TASK_STATE_FAILED,
  canceled: WireState.TASK_STATE_CANCELED,
} as const

/** A task before it is put into a protocol version's words. */
export interface TaskView {
  /** The challengeId. */
  id: string
  requestId?: string | undefined
  state: keyof typeof STATES
  /** Absent where there is no payment and none is asked for. */
  payment?: PaymentStatus | undefined
  text: string
  /** Goes with the text, as a data part. */
  data?: object | undefined
  required?: PaymentRequired | undefined
  receipts?: SettleResponse[]
  /** `x402.payment.error` */
  error?: string | undefined
  /** What was bought: only ever in the answer to the message that carried the owning payment. */
  result?: AccessGrant | ResourceResponse
  at?: number | undefined
}

/** `contextId`: as the client named it. */
export function toTask(view: TaskView, contextId: string | undefined): Task {
  const { result } = view
  return {
    id: view.id,
    contextId: contextId ?? contextOf(view),
    status: statusOf(view, contextId),
    artifacts: result && view.state === 'completed' ? [artifactOf(result)] : [],
    history: [],
    metadata: metadataOf(view),
  }
}

export function toStatusUpdate(view: TaskView, contextId: string | undefined): StreamResponse {
  const value = {
    taskId: view.id,
    contextId: contextId ?? contextOf(view),
    status: statusOf(view, contextId),
    metadata: metadataOf(view),
  }
  return { payload: { $case: 'statusUpdate', value } }
}

/** Undefined where nothing was handed over. */
export function toArtifactUpdate(view: TaskView, contextId: string | undefined): StreamResponse | undefined {
  if (!view.result || view.state !== 'completed') return undefined
  const value = {
    taskId: view.id,
    contextId: contextId ?? contextOf(view),
    artifact: artifactOf(view.result),
    append: false,
    lastChunk: true,
    metadata: undefined,
  }
  return { payload: { $case: 'artifactUpdate', value } }
}

/** A message of ours; `ids` are those of the task that it belongs to. */
export function agentMessage(
  parts: Part[],
  ids: { taskId: string; contextId: string },
  metadata?: Record<string, unknown>,
): Message {
  return {
    messageId: randomUUID(),
    ...ids,
    role: Role.ROLE_AGENT,
    parts,
    metadata,
    extensions: [],
    referenceTaskIds: [],
  }
}

export function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}

export function dataPart(value: object): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: '' }
}

function contextOf({ id, requestId }: TaskView): string {
  return `ctx-${requestId ?? id}`
}

function statusOf(view: TaskView, contextId: string | undefined): TaskStatus {
  const said = view.result ?? view.data
  const parts = [textPart(view.text), ...(said ? [dataPart(said)] : [])]
  const ids = { taskId: view.id, contextId: contextId ?? contextOf(view) }
  return {
    state: STATES[view.state],
    // Clients of the x402 extension look into the message, others into the task: both say the same.
    message: agentMessage(parts, ids, metadataOf(view)),
    timestamp: view.at === undefined ? undefined : new Date(view.at).toISOString(),
  }
}

function metadataOf({ payment, required, receipts = [], error }: TaskView): Record<string, unknown> {
  return {
    ...(payment !== undefined && { [STATUS_KEY]: payment }),
    ...(required && { [REQUIRED_KEY]: required }),
    ...(receipts.length > 0 && { [RECEIPTS_KEY]: receipts }),
    ...(error !== undefined && { [ERROR_KEY]: error }),
  }
}

function artifactOf(result: AccessGrant | ResourceResponse): Artifact {
  return {
    artifactId: result.type,
    name: result.type,
    description: '',
    parts: [dataPart(result)],
    metadata: undefined,
    extensions: [],
  }
}
