import { join } from 'node:path'
import type { StoreChoice } from '../ports.ts'

/** The operator's API: that of a running server, or one over the store itself. */
export interface OpenBackstage {
  via: 'server' | 'store'
  /** Shown to people, such as `the server at http://localhost:3000`. */
  place: string
  /** `path` is below `/admin/api`; with a body it is a POST. Rejects with the API's message unless the answer is 2xx. */
  ask(path: string, body?: object): Promise<Response>
  close(): Promise<void>
}

export const ASK_IT =
  'Only the gateway itself changes its records: serve its dashboard (paystileAdmin), and set ADMIN_URL and ADMIN_TOKEN to ask it.'

/** Shown to people. */
export function placeOf(choice: StoreChoice): string {
  return choice.kind === 'embedded' ? join(choice.dataDir, 'paystile.db') : `the ${choice.kind} store`
}

/** Rejects with the API's message unless the answer is 2xx. */
export async function orFault(response: Response): Promise<Response> {
  if (response.ok) return response
  const { error } = (await response.json().catch(() => ({}))) as { error?: unknown }
  throw new Error(typeof error === 'string' ? error : `the server answers HTTP ${response.status}`)
}

/** The lines of a streamed response. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop()!
    yield* parts
  }
  if (rest !== '') yield rest
}
