import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { Forwarded } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { CORS_HEADERS } from './headers.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

/** A forwarded answer as it goes out: a page of any origin may read it, unless the backend says otherwise. */
export function renderForwarded(
  forwarded: Forwarded,
  render: OutcomeRenderer,
  spoken: Spoken,
): Response | Reply {
  if (!(forwarded instanceof Response)) {
    const { status, reason } = forwarded
    const error = new GatewayError('INTERNAL_ERROR', reason, { hint: 'send the same request again later' })
    return render.failure(error, { httpStatus: status, spoken })
  }
  const headers = new Headers(forwarded.headers)
  if (!headers.has('access-control-allow-origin')) {
    for (const [name, value] of Object.entries(CORS_HEADERS)) headers.set(name, value)
  }
  const { status, statusText, body } = forwarded
  return new Response(body, { status, statusText, headers })
}
