import { UnavailableError } from '../errors.ts'
import type { ExchangeLimits } from '../exchange.ts'
import { fetchText } from './http-text.ts'

/** A JSON-RPC error: the node was reached and said no. */
export interface RpcFailure {
  code: number
  message: string
  /** Revert data, where the node gives any. */
  data?: string
}

export type RpcAnswer = { ok: true; result: unknown } | { ok: false; error: RpcFailure }

export interface Rpc {
  /** The node's answer, be it an error. Rejects with UnavailableError if there was no answer. */
  attempt(method: string, params: readonly unknown[]): Promise<RpcAnswer>
  /** The result. An error answer is an UnavailableError too: the node could not say what we asked. */
  call(method: string, params: readonly unknown[]): Promise<unknown>
}

interface Pending {
  method: string
  params: readonly unknown[]
  resolve(answer: RpcAnswer): void
  reject(error: unknown): void
}

const MAX_BATCH = 50

/**
 * JSON-RPC over `fetch`. Calls that are made together travel as one batch; nodes that refuse batches, or
 * take only small ones, get smaller ones.
 */
export function createRpc(rpcUrl: string, limits: ExchangeLimits): Rpc {
  const url = new URL(rpcUrl)
  let queue: Pending[] = []
  let batchLimit = MAX_BATCH

  function flush(): void {
    const all = queue
    queue = []
    for (let from = 0; from < all.length; from += batchLimit) void send(all.slice(from, from + batchLimit))
  }

  async function send(batch: Pending[]): Promise<void> {
    const what = `the RPC (${batch[0]!.method})`
    try {
      const answer = await post(url, what, batch, limits)
      if (batch.length > 1 && !Array.isArray(answer)) {
        // One error for the whole batch: the node does not take (such) batches. Repeating is harmless, even for
        // a raw transaction.
        batchLimit = Math.max(1, Math.min(batchLimit, Math.floor(batch.length / 2)))
        const half = Math.ceil(batch.length / 2)
        await Promise.all([send(batch.slice(0, half)), send(batch.slice(half))])
        return
      }
      const byId = new Map((Array.isArray(answer) ? answer : [answer]).map((item) => [item.id, item]))
      batch.forEach((call, index) => {
        const item = byId.get(index) ?? (batch.length === 1 && !Array.isArray(answer) ? answer : undefined)
        if (item === undefined) call.reject(new UnavailableError(`the RPC (${call.method}: no answer)`))
        else if ('error' in item && item.error) call.resolve({ ok: false, error: readFailure(item.error) })
        else call.resolve({ ok: true, result: item.result ?? null })
      })
    } catch (error) {
      for (const call of batch) call.reject(error)
    }
  }

  function attempt(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    return new Promise((resolve, reject) => {
      if (queue.length === 0) queueMicrotask(flush)
      queue.push({ method, params, resolve, reject })
    })
  }

  return {
    attempt,
    async call(method, params) {
      const answer = await attempt(method, params)
      if (answer.ok) return answer.result
      throw new UnavailableError(`the RPC (${method}: ${answer.error.message})`)
    },
  }
}

type Item = { id?: unknown; result?: unknown; error?: unknown }

async function post(
  url: URL,
  what: string,
  batch: Pending[],
  limits: ExchangeLimits,
): Promise<Item | Item[]> {
  const calls = batch.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
  const init = {
    method: 'POST' as const,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.length === 1 ? calls[0] : calls),
  }
  const { status, text } = await fetchText(what, url, init, limits)
  // Rate limits and server faults are no answers, whatever their body says.
  if (status === 429 || status >= 500) throw new UnavailableError(`${what} (HTTP ${status})`)
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch (error) {
    throw new UnavailableError(`${what} (HTTP ${status}, not JSON)`, error)
  }
  const isItem = (item: unknown): item is Item =>
    typeof item === 'object' && item !== null && ('result' in item || 'error' in item)
  if (Array.isArray(answer) ? answer.every(isItem) : isItem(answer)) return answer as Item | Item[]
  throw new UnavailableError(`${what} (HTTP ${status}, not JSON-RPC)`)
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

/** Foreign text that may enter logs and answers: one short line of ASCII. */
export function printable(text: string, maxLength = 160): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, maxLength)
}
