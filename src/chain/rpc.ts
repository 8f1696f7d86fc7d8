import { setTimeout as sleep } from 'node:timers/promises'
import { UnavailableError } from '../errors.ts'
import type { ExchangeLimits } from '../exchange.ts'
import { fetchText } from './http-text.ts'
import { createLearnedLimit } from './learned-limit.ts'
import type { RpcAnswer, RpcFailure } from './rpc-answer.ts'
import { createRpcPace, type RpcPace, readRetryAfter, saysTooFast } from './rpc-pace.ts'
import { createSendAndWait, type SendAndWait } from './send-and-wait.ts'

export interface Rpc {
  /** The node's answer, which may be an error. Rejects with UnavailableError if there was no answer. */
  attempt(method: string, params: readonly unknown[]): Promise<RpcAnswer>
  /**
   * The result. Rejects with UnavailableError on an error answer too, because the node did not answer the question.
   */
  call(method: string, params: readonly unknown[]): Promise<unknown>
  /** Sends a transaction and waits for its block. */
  readonly sendAndWait?: SendAndWait
  /** Present where there are several nodes; see {@link onOneNode}. */
  together?<T>(work: (node: Rpc) => Promise<T>): Promise<T>
}

/**
 * For questions whose answers belong together, such as the latest block and the logs up to it: one node answers all
 * of them. If it fails half-way, all of the work is done again with the next one.
 */
export function onOneNode<T>(rpc: Rpc, work: (node: Rpc) => Promise<T>): Promise<T> {
  return rpc.together ? rpc.together(work) : work(rpc)
}

export function resultOf(method: string, answer: RpcAnswer): unknown {
  if (answer.ok) return answer.result
  throw new UnavailableError(`the RPC (${method}: ${answer.error.message})`)
}

interface Waiter {
  resolve(answer: RpcAnswer): void
  reject(error: unknown): void
}

interface Pending {
  method: string
  /** The parameters as JSON. */
  params: string
  /** The callers that made the same call before it was sent. */
  waiters: Waiter[]
  givenUpAtMs: number
  /** It travels in a request of its own, whose answer may take this long. */
  aloneMs?: number
}

const MAX_BATCH = 50
/** The quickest of this many exchanges shows the distance of the node. */
const LATENCIES = 16

/** What is known about the connection to the node. */
export interface RpcState {
  /** The shortest answer time lately. */
  roundTripMs(): number
  /** The node refuses calls that come too fast. */
  isLimited(): boolean
}

/**
 * JSON-RPC over `fetch`. Calls that are made together travel as one batch, and equal ones as one; nodes that refuse
 * batches, or take only small ones, get smaller ones. A node that has no time for a call gets it again, later and
 * slower, for as long as an answer may take.
 *
 * By hand, because viem's transport takes four times the CPU for a batch of six calls, and hands the answers of a batch
 * out by their order: if a node leaves one out, the others go to the wrong calls.
 */
export function createRpc(
  rpcUrl: string,
  limits: ExchangeLimits,
  pace: RpcPace = createRpcPace(),
): Rpc & RpcState {
  const url = new URL(rpcUrl)
  const queue: Pending[] = []
  const unsent = new Map<string, Pending>()
  const batchLimit = createLearnedLimit(MAX_BATCH)
  const latencies: number[] = []
  let draining = false

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      giveUp()
      const size = pace.admit(Math.min(together(), batchLimit.current()))
      if (size > 0) void send(take(size))
      else if (queue.length > 0) await sleep(Math.min(pace.waitMs(), queue[0]!.givenUpAtMs - Date.now()))
    }
    draining = false
  }

  /** How many of the first calls may travel as one batch. */
  function together(): number {
    const first = queue.findIndex(({ aloneMs }) => aloneMs !== undefined)
    return first < 0 ? queue.length : Math.max(1, first)
  }

  function startDraining(): void {
    if (draining) return
    draining = true
    queueMicrotask(() => void drain())
  }

  function take(size: number): Pending[] {
    const batch = queue.splice(0, size)
    for (const { method, params } of batch) unsent.delete(method + params)
    return batch
  }

  function giveUp(): void {
    const nowMs = Date.now()
    while (queue.length > 0 && queue[0]!.givenUpAtMs <= nowMs) {
      for (const { method, waiters } of take(1)) {
        const error = new UnavailableError(`the RPC (${method}: it takes no more calls for now)`)
        for (const { reject } of waiters) reject(error)
      }
    }
  }

  /**
   * The calls were refused for a reason that is not about them. Repeating is harmless, even for a raw transaction.
   */
  function sendAgain(batch: readonly Pending[]): void {
    queue.unshift(...batch)
    startDraining()
  }

  async function send(batch: Pending[]): Promise<void> {
    try {
      const sentAtMs = performance.now()
      const { aloneMs } = batch[0]!
      const answer = await post(
        url,
        batch,
        aloneMs === undefined ? limits : { ...limits, timeoutMs: aloneMs },
      )
      if (aloneMs === undefined) latencies.push(performance.now() - sentAtMs)
      if (latencies.length > LATENCIES) latencies.shift()
      if ('tooFast' in answer) {
        pace.refused(batch.length, answer.retryAfterMs)
        return sendAgain(batch)
      }
      if (batch.length > 1 && !Array.isArray(answer)) {
        // One error for the whole batch: the node does not accept batches, or not of this size.
        batchLimit.shrinkTo(Math.floor(batch.length / 2))
        return sendAgain(batch)
      }
      settle(batch, answer)
    } catch (error) {
      for (const { waiters } of batch) for (const { reject } of waiters) reject(error)
    }
  }

  function settle(batch: readonly Pending[], answer: Item | Item[]): void {
    const byId = new Map((Array.isArray(answer) ? answer : [answer]).map((item) => [item.id, item]))
    const refused: Pending[] = []
    batch.forEach((call, index) => {
      const item = byId.get(index) ?? (batch.length === 1 && !Array.isArray(answer) ? answer : undefined)
      const failure = item && 'error' in item && item.error ? readFailure(item.error) : undefined
      if (failure && saysTooFast(failure)) refused.push(call)
      else if (item === undefined) {
        const error = new UnavailableError(`the RPC (${call.method}: no answer)`)
        for (const { reject } of call.waiters) reject(error)
      } else {
        const answered: RpcAnswer = failure
          ? { ok: false, error: failure }
          : { ok: true, result: item.result ?? null }
        for (const { resolve } of call.waiters) resolve(answered)
      }
    })
    if (refused.length < batch.length) pace.accepted(batch.length - refused.length)
    if (refused.length === 0) return
    pace.refused(refused.length)
    sendAgain(refused)
  }

  function attempt(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    return new Promise((resolve, reject) => {
      const json = JSON.stringify(params)
      const same = unsent.get(method + json)
      if (same) return void same.waiters.push({ resolve, reject })
      const givenUpAtMs = Date.now() + limits.timeoutMs
      const pending = { method, params: json, waiters: [{ resolve, reject }], givenUpAtMs }
      unsent.set(method + json, pending)
      queue.push(pending)
      startDraining()
    })
  }

  function attemptAlone(method: string, params: readonly unknown[], aloneMs: number): Promise<RpcAnswer> {
    return new Promise((resolve, reject) => {
      const givenUpAtMs = Date.now() + aloneMs
      queue.push({
        method,
        params: JSON.stringify(params),
        waiters: [{ resolve, reject }],
        givenUpAtMs,
        aloneMs,
      })
      startDraining()
    })
  }

  return {
    attempt,
    sendAndWait: createSendAndWait(attemptAlone, limits.timeoutMs),
    call: async (method, params) => resultOf(method, await attempt(method, params)),
    roundTripMs: () => Math.min(...latencies),
    isLimited: pace.isLimited,
  }
}

type Item = { id?: unknown; result?: unknown; error?: unknown }

async function post(
  url: URL,
  batch: readonly Pending[],
  limits: ExchangeLimits,
): Promise<Item | Item[] | { tooFast: true; retryAfterMs: number | undefined }> {
  const what = `the RPC (${batch[0]!.method})`
  const calls = batch.map(({ method, params }, id) => {
    return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`
  })
  const init = {
    method: 'POST' as const,
    headers: { 'content-type': 'application/json' },
    body: calls.length === 1 ? calls[0]! : `[${calls.join()}]`,
  }
  const { status, headers, text } = await fetchText(what, url, init, limits)
  const tooFast = { tooFast: true as const, retryAfterMs: readRetryAfter(headers['retry-after'], Date.now()) }
  // Rate limits, server errors and a key that is not accepted or not paid for are not answers, whatever their body
  // contains. 403 and 404 may be about the call alone: a method or a range that the node does not offer.
  if (status === 429) return tooFast
  if (status >= 500 || status === 401 || status === 402)
    throw new UnavailableError(`${what} (HTTP ${status})`)
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch (error) {
    if (status >= 400 && saysTooFast({ code: 0, message: printable(text) })) return tooFast
    throw new UnavailableError(`${what} (HTTP ${status}, not JSON)`, error)
  }
  const isItem = (item: unknown): item is Item =>
    typeof item === 'object' && item !== null && ('result' in item || 'error' in item)
  if (!(Array.isArray(answer) ? answer.every(isItem) : isItem(answer)))
    throw new UnavailableError(`${what} (HTTP ${status}, not JSON-RPC)`)
  const whole = Array.isArray(answer) ? undefined : (answer as Item).error
  if (whole && saysTooFast(readFailure(whole))) return tooFast
  return answer as Item | Item[]
}

function readFailure(error: unknown): RpcFailure {
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown }
  // Some nodes wrap the revert data once more.
  const inner = typeof data === 'object' && data !== null ? (data as { data?: unknown }).data : data
  return {
    code: typeof code === 'number' ? code : 0,
    message: printable(String(message ?? error)),
    ...(typeof inner === 'string' && { data: inner }),
  }
}

/** Makes foreign text safe for logs and answers: one short line of ASCII. */
export function printable(text: string, maxLength = 160): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, maxLength)
}
