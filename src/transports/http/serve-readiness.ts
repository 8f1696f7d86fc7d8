import type { Readiness } from './check-readiness.ts'
import { UNPAID_HEADERS } from './headers.ts'
import { jsonReply, type Reply } from './reply.ts'

/** `GET /ready`. */
export function createReadinessEndpoint(
  ready: () => Promise<Readiness>,
  report: (error: unknown) => void,
): () => Promise<Reply> {
  const unready = { ...UNPAID_HEADERS, 'retry-after': '5' }
  return async () => {
    try {
      const { ok, ...found } = await ready()
      if (ok) return jsonReply(200, UNPAID_HEADERS, { status: 'ready', ...found })
      return jsonReply(503, unready, { status: 'not-ready', ...found })
    } catch (error) {
      report(error)
      return jsonReply(503, unready, { status: 'not-ready', checks: {} })
    }
  }
}
