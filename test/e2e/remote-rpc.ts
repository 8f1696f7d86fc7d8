import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How a node that has had enough says so. */
export type Refusal =
  /** HTTP 429 without a word. */
  | 'status'
  /** HTTP 429 with `Retry-After`, in seconds. */
  | 'retry-after'
  /** HTTP 200 and one JSON-RPC error for all calls of the request, with this code. */
  | -32005
  | -32016
  /** Each call that is too many gets an error of its own, whose text alone tells. */
  | 'members'

interface Call {
  id: unknown
  method: string
  params: unknown[]
}

/** A JSON-RPC node as sellers have it: some way off, and with a limit of calls per second. All of it can be changed at any time. */
export interface RemoteRpc {
  url: string
  /** For each answer. */
  latencyMs: number
  /** Within any second, members of a batch counted; beyond it everything is refused. */
  callsPerSecond: number
  refusal: Refusal
  /** Changes what the node answers to a call: it lies. */
  lie: ((method: string, params: readonly unknown[], result: unknown) => unknown) | undefined
  /** The error that the node answers to a call although it has done what was asked. */
  fail: ((method: string) => { code: number; message: string } | undefined) | undefined
  /** Methods that the node does not have. */
  lacks: readonly string[]
  /** Methods that the node carries out without ever answering. */
  withholds: readonly string[]
  /** Calls that came, by method, since the last reset. */
  calls: Record<string, number>
  /** All of them. */
  total(): number
  refused: number
  reset(): void
  stop(): Promise<void>
}

export async function startRemoteRpc(
  target: string,
  settings: Partial<
    Pick<RemoteRpc, 'latencyMs' | 'callsPerSecond' | 'refusal' | 'lie' | 'lacks' | 'withholds'>
  > = {},
): Promise<RemoteRpc> {
  /** When each call of the last second was taken. */
  let taken: number[] = []

  /** How many of these may still be answered. */
  function admit(count: number): number {
    const now = performance.now()
    taken = taken.filter((at) => at > now - 1000)
    const room = Math.max(0, rpc.callsPerSecond - taken.length)
    const admitted = rpc.refusal === 'members' ? Math.min(room, count) : room >= count ? count : 0
    for (let i = 0; i < admitted; i++) taken.push(now)
    rpc.refused += count - admitted
    return admitted
  }

  async function ask(calls: readonly Call[]): Promise<unknown[]> {
    if (calls.length === 0) return []
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(calls)
    const answers = (await (await fetch(target, { method: 'POST', headers, body })).json()) as Array<{
      id: unknown
      result?: unknown
    }>
    return answers.map((answer) => {
      const call = calls.find(({ id }) => id === answer.id)!
      const error = rpc.fail?.(call.method)
      if (error) return { jsonrpc: '2.0', id: answer.id, error }
      return rpc.lie && 'result' in answer
        ? { ...answer, result: rpc.lie(call.method, call.params, answer.result) }
        : answer
    })
  }

  async function askWhatIsThere(calls: readonly Call[]): Promise<unknown[]> {
    const lacking = calls.filter(({ method }) => rpc.lacks.includes(method))
    const faults = lacking.map(({ id, method }) => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32601, message: `the method ${method} does not exist/is not available` },
    }))
    return [...(await ask(calls.filter((call) => !lacking.includes(call)))), ...faults]
  }

  const tooMany = (id: unknown, code: number) => ({
    jsonrpc: '2.0',
    id,
    error: { code, message: 'you have exceeded the rate limit' },
  })

  const server = createServer(async (request, response) => {
    try {
      let text = ''
      for await (const chunk of request) text += chunk
      const sent = JSON.parse(text) as Call | Call[]
      const calls = Array.isArray(sent) ? sent : [sent]
      for (const { method } of calls) rpc.calls[method] = (rpc.calls[method] ?? 0) + 1
      await sleep(rpc.latencyMs)
      const { refusal } = rpc
      const admitted = admit(calls.length)
      if (admitted === 0 && (refusal === 'status' || refusal === 'retry-after')) {
        response.writeHead(429, refusal === 'retry-after' ? { 'retry-after': '1' } : {}).end('slow down')
        return
      }
      const code = typeof refusal === 'number' ? refusal : -32000
      const refused = calls.slice(admitted).map(({ id }) => tooMany(id, code))
      const whole = admitted === 0 && typeof refusal === 'number' && Array.isArray(sent)
      const answers = whole ? [] : [...(await askWhatIsThere(calls.slice(0, admitted))), ...refused]
      if (calls.some(({ method }) => rpc.withholds.includes(method))) return
      const body = whole ? tooMany(null, code) : Array.isArray(sent) ? answers : answers[0]
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    } catch {
      // The caller or the chain is gone.
      response.destroy()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const rpc: RemoteRpc = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    latencyMs: 0,
    callsPerSecond: Number.POSITIVE_INFINITY,
    refusal: 'status',
    lie: undefined,
    fail: undefined,
    lacks: [],
    withholds: [],
    ...settings,
    calls: {},
    refused: 0,
    total: () => Object.values(rpc.calls).reduce((sum, count) => sum + count, 0),
    reset() {
      rpc.calls = {}
      rpc.refused = 0
    },
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
  return rpc
}
