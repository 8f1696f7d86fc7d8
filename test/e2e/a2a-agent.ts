import { randomUUID } from 'node:crypto'
import type { PaymentRequired, PaymentRequirements, SettleResponse } from '../../src/protocol/payment.ts'
import { type DevAccount, paymentPayload, signAuthorization } from '../../src/testing/index.ts'

export const X402_V02 = 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2'

export interface X402Metadata {
  'x402.payment.status'?: string
  'x402.payment.required'?: PaymentRequired
  'x402.payment.receipts'?: SettleResponse[]
  'x402.payment.error'?: string
}

interface RawMessage {
  parts: Array<{ kind: string; text?: string; data?: Record<string, unknown> }>
  metadata?: X402Metadata
}

/** A task as 0.3 spells it. */
export interface RawTask {
  kind: string
  id: string
  contextId: string
  status: { state: string; timestamp?: string; message?: RawMessage }
  artifacts?: Array<{ artifactId: string; parts: RawMessage['parts'] }>
  metadata?: X402Metadata
}

export interface RpcAnswer {
  httpStatus: number
  headers: Headers
  id?: unknown
  result?: RawTask
  error?: { code: number; message: string; data?: unknown }
}

export type Payload = Record<string, unknown>

/** What the payer signs for these terms, as `x402.payment.payload` carries it. */
export async function payloadFor(
  buyer: DevAccount,
  required: PaymentRequired | undefined,
  overrides: Parameters<typeof signAuthorization>[0]['overrides'] = {},
): Promise<Payload> {
  const accepted: PaymentRequirements = required!.accepts[0]!
  const signed = await signAuthorization({ account: buyer.account, requirements: accepted, overrides })
  return paymentPayload({ accepted, ...signed })
}

export const requiredOf = (task: RawTask | undefined) => task?.metadata?.['x402.payment.required']
export const dataOf = (task: RawTask | undefined) =>
  task?.status.message?.parts.find(({ kind }) => kind === 'data')?.data

/** Speaks 0.3 by hand, exactly as the specification prints it. */
export function rawAgent(url: string, headers: Record<string, string> = { 'X-A2A-Extensions': X402_V02 }) {
  const post = (body: unknown, more: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...more },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  async function rpc(method: string, params: unknown): Promise<RpcAnswer> {
    const response = await post({ jsonrpc: '2.0', id: 1, method, params })
    const body = (await response.json()) as Omit<RpcAnswer, 'httpStatus' | 'headers'>
    return { ...body, httpStatus: response.status, headers: response.headers }
  }

  const message = (parts: unknown[], more: Record<string, unknown> = {}) => ({
    message: { kind: 'message', role: 'user', messageId: randomUUID(), parts, ...more },
  })
  const text = { kind: 'text', text: 'please' }

  return {
    post,
    rpc,
    message,
    asking: (data: Record<string, unknown>) =>
      message([{ kind: 'data', data: { type: 'AccessRequest', ...data } }]),
    paying: (payload: Payload, more: Record<string, unknown> = {}) =>
      message([text], {
        metadata: { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': payload },
        ...more,
      }),
    /** Phase 1. */
    ask(data: Record<string, unknown>): Promise<RpcAnswer> {
      return rpc('message/send', this.asking(data))
    },
    /** Phase 2. */
    pay(payload: Payload, more: Record<string, unknown> = {}): Promise<RpcAnswer> {
      return rpc('message/send', this.paying(payload, more))
    },
    get: (id: string) => rpc('tasks/get', { id }),
    cancel: (id: string) => rpc('tasks/cancel', { id }),
    /** The events of a stream, as they come. */
    async *stream(method: string, params: unknown): AsyncGenerator<RawEvent> {
      const response = await post({ jsonrpc: '2.0', id: 1, method, params }, { accept: 'text/event-stream' })
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
        throw new Error(await response.text())
      }
      let buffer = ''
      const decoder = new TextDecoder()
      for await (const chunk of response.body!) {
        buffer += decoder.decode(chunk, { stream: true })
        for (let end = buffer.indexOf('\n\n'); end !== -1; end = buffer.indexOf('\n\n')) {
          const event = JSON.parse(buffer.slice('data: '.length, end)) as { result: RawEvent }
          buffer = buffer.slice(end + 2)
          yield event.result
        }
      }
    },
  }
}

export interface RawEvent {
  kind: 'task' | 'status-update' | 'artifact-update'
  status?: RawTask['status']
  artifact?: NonNullable<RawTask['artifacts']>[number]
  metadata?: X402Metadata
  final?: boolean
}

export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const event of events) all.push(event)
  return all
}
