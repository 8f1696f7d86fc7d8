import { Agent } from 'undici'
import { exchange } from '../exchange.ts'
import { documentUrlOf } from './did-web.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 64 * 1024

/** A document that could not be had: this says nothing of the receipt. */
export class DocumentError extends Error {}

/** The document of a did:web, from its own host and nowhere else: redirects are not followed. */
export async function fetchDocument(did: string): Promise<unknown> {
  const url = documentUrlOf(did)
  if (!url) throw new DocumentError(`${did.slice(0, 200)} is no did:web that can be asked`)
  const agent = new Agent({ connections: 1 })
  try {
    const { status, bytes } = await exchange(
      agent,
      { origin: url.origin, path: url.pathname, method: 'GET', headers: { accept: 'application/json' } },
      { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES },
    )
    if (status !== 200) throw new DocumentError(`${url} answers ${status}`)
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    if (cause instanceof DocumentError) throw cause
    const why =
      cause instanceof SyntaxError ? 'it is no JSON' : cause instanceof Error ? cause.message : 'unknown'
    throw new DocumentError(`${url} cannot be read: ${why}`)
  } finally {
    await agent.destroy()
  }
}
