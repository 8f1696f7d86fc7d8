import type { Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import {
  A2AError,
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server'
import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Engine, Intent, OfferedTerms } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { publicFault } from '../http/safeguards.ts'
import type { Sale } from './challenge-terms.ts'
import { completeIntent } from './complete-intent.ts'
import { type Ask, decodeMessage, offeredIn } from './decode-message.ts'
import { projectTask, submitted } from './project-task.ts'
import type { Purchases } from './purchases.ts'
import { streamPurchase, streamTask } from './stream-task.ts'
import { type TaskView, toTask } from './task-view.ts'

/** Kept in a call's context: the network address of the client. */
export const ADDRESS = 'address'
/** Kept in a call's context: aborts when the client has left, or has listened for long enough. */
export const SIGNAL = 'signal'
/** Set in a call's context when the fault is ours; every other internal error comes from a malformed message. */
export const FAULT = 'fault'

export interface RequestHandlerParts {
  engine: Pick<Engine, 'status' | 'inspect' | 'watch' | 'cancel'>
  purchases: Purchases
  sale: Sale
  x402: X402
  streaming: boolean
  transferProofs: boolean
  /** For whoever names nothing to buy. */
  catalogMessage(contextId: string | undefined): Message
  report(error: unknown): void
}

/** A purchase that is ready to run; `open`: it can still change, so that there is something to follow. */
interface Prepared {
  intent: Intent
  open: ChallengeStatus | undefined
}

/** The protocol's methods. A task is what the stored challenge says it is: nothing is kept here. */
export function createRequestHandler(parts: RequestHandlerParts): A2ARequestHandler {
  const { engine, purchases, sale, streaming } = parts

  async function look(taskId: string): Promise<TaskView> {
    const dossier = await engine.inspect(taskId)
    if (!dossier) throw notFound(taskId)
    const task = projectTask(dossier, sale, purchases.settling(taskId))
    return (task.state === 'input-required' && purchases.proven(taskId)) || task
  }

  async function cancel(taskId: string, offered: OfferedTerms | undefined): Promise<TaskView> {
    const cancelled = await engine.cancel(taskId, 'buyer', offered)
    if (!(cancelled instanceof GatewayError)) return look(taskId)
    if (cancelled.code === 'CHALLENGE_NOT_FOUND') throw notFound(taskId)
    throw new TaskNotCancelableError(cancelled.message)
  }

  async function prepare({
    intent,
    taskId,
  }: Extract<Ask, { kind: 'purchase' }>): Promise<Prepared | TaskView> {
    const { challengeId } = intent
    const status = challengeId === undefined ? undefined : await engine.status(challengeId)
    if (taskId !== undefined && !status) throw notFound(taskId)
    const completed = await completeIntent(engine, intent)
    if (completed instanceof GatewayError) return purchases.run(intent, completed)
    const pays = completed.payment !== undefined || completed.proof !== undefined
    const moving = status?.state === 'PENDING' || status?.state === 'PAID'
    return { intent: completed, open: pays && moving ? status : undefined }
  }

  async function* respond(
    { message, configuration }: SendMessageRequest,
    { state }: ServerCallContext,
    stream: AbortSignal | undefined,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    if (!message) throw new RequestMalformedError('message is missing')
    const contextId = message.contextId === '' ? undefined : message.contextId
    const task = (view: TaskView): StreamResponse => ({
      payload: { $case: 'task', value: toTask(view, contextId) },
    })
    const ask = decodeMessage(message, parts)
    if (ask.kind === 'catalog') {
      return yield { payload: { $case: 'message', value: parts.catalogMessage(contextId) } }
    }
    if (ask.kind === 'look') return yield task(await look(ask.taskId))
    if (ask.kind === 'reject') return yield task(await cancel(ask.taskId, ask.offered))
    const prepared = await prepare(ask)
    if (!('intent' in prepared)) return yield task(prepared)
    const intent: Intent = { ...prepared.intent, address: state.get(ADDRESS) as string | undefined }
    const { open } = prepared
    if (open && stream) return yield* streamPurchase({ ...parts, intent, contextId, open })
    // What a proof came to may be stored nowhere, so it is told at once: whoever follows the task may ask another instance.
    if (open && configuration?.returnImmediately && !intent.proof && purchases.hasRoom()) {
      void purchases.run(intent)
      return yield task(submitted(open))
    }
    yield task(await purchases.run(intent))
  }

  /** Whatever the store or a bug throws: the operator is told all of it, the client what it may know. */
  function publicError(context: ServerCallContext, error: unknown): unknown {
    if (error instanceof A2AError) return error
    context.state.set(FAULT, true)
    if (!(error instanceof GatewayError)) parts.report(error)
    return new Error(error instanceof GatewayError ? error.message : publicFault(error).message)
  }

  async function guarded<T>(context: ServerCallContext, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      throw publicError(context, error)
    }
  }

  async function* streamed(
    context: ServerCallContext,
    events: AsyncGenerator<StreamResponse, void, undefined>,
  ) {
    if (!streaming)
      throw new UnsupportedOperationError('Streaming is not offered; use message/send and tasks/get.')
    try {
      yield* events
    } catch (error) {
      throw publicError(context, error)
    }
  }

  return {
    // Only asked for `streaming`; the card that clients see is served as it was built.
    getAgentCard: async () => ({ ...NO_CARD, capabilities: { streaming, extensions: [] } }),
    sendMessage: (params, context) =>
      guarded(context, async () => {
        const { value } = await respond(params, context, undefined).next()
        return (value as StreamResponse).payload!.value as Message | Task
      }),
    sendMessageStream: (params, context) => streamed(context, respond(params, context, signalOf(context))),
    getTask: ({ id }, context) => guarded(context, async () => toTask(await look(taskIdIn(id)), undefined)),
    cancelTask: ({ id, metadata }, context) =>
      guarded(context, async () =>
        toTask(await cancel(taskIdIn(id), offeredIn(parts.x402, metadata)), undefined),
      ),
    resubscribe: ({ id }, context) =>
      streamed(
        context,
        streamTask({ engine, purchases, look, taskId: taskIdIn(id), signal: signalOf(context) }),
      ),
    listTasks: refuse(
      () => new UnsupportedOperationError('Tasks are not listed: a task id is known to its buyer alone.'),
    ),
    getAuthenticatedExtendedAgentCard: refuse(() => new ExtendedAgentCardNotConfiguredError()),
    createTaskPushNotificationConfig: refuse(() => new PushNotificationNotSupportedError()),
    getTaskPushNotificationConfig: refuse(() => new PushNotificationNotSupportedError()),
    listTaskPushNotificationConfigs: refuse(() => new PushNotificationNotSupportedError()),
    deleteTaskPushNotificationConfig: refuse(() => new PushNotificationNotSupportedError()),
  }
}

const NO_CARD = {
  name: '',
  description: '',
  version: '',
  supportedInterfaces: [],
  provider: undefined,
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
  signatures: [],
}

function taskIdIn(id: unknown): string {
  if (typeof id === 'string' && id !== '') return id
  throw new RequestMalformedError('id is missing: the id of a task is a text')
}

function notFound(taskId: string): Error {
  return new TaskNotFoundError(
    `There is no task ${taskId.slice(0, 160)}; tasks of unpaid requests are forgotten after a while.`,
  )
}

function signalOf({ state }: ServerCallContext): AbortSignal {
  return state.get(SIGNAL) as AbortSignal
}

function refuse(reason: () => Error): () => Promise<never> {
  return async () => {
    throw reason()
  }
}
