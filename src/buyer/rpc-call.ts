import { readDocument } from './capped-body.ts'

/** Asks one node. */
export type Ask = (method: string, params: unknown[]) => Promise<unknown>

/** The node's own answer is an error. Any other failure says nothing about what became of the question. */
export class NodeRefusal extends Error {}

/** Asks a node over JSON-RPC. Throws if it does not answer with a result. */
export async function rpcCall(
  fetchOnce: typeof fetch,
  rpcUrl: string,
  method: string,
  params: unknown[],
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetchOnce(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal,
  })
  const { result, error } = JSON.parse((await readDocument(response)) ?? '') as {
    result?: unknown
    error?: { message?: unknown }
  }
  if (result !== undefined && result !== null) return result
  if (typeof error?.message === 'string') throw new NodeRefusal(`${method}: ${error.message.slice(0, 200)}`)
  throw new Error(`${method} answered HTTP ${response.status} without a result`)
}

/** The answer to a question that a node may not be able to answer. */
export type Unknown = { kind: 'unknown'; why: string }

/** Asks the nodes of a network one after the other until one knows. */
export async function askNodes<Known extends { kind: string }>(
  rpcUrls: readonly string[],
  ask: (rpcUrl: string) => Promise<Known | Unknown>,
): Promise<Known | Unknown> {
  let answer: Known | Unknown = { kind: 'unknown', why: 'no RPC of it is known; name one in rpcUrls' }
  for (const rpcUrl of rpcUrls) {
    answer = await ask(rpcUrl)
    if (answer.kind !== 'unknown') break
  }
  return answer
}
