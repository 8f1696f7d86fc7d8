import { type BodyLimits, readBody } from '../transports/http/read-body.ts'
import { PAGE_HEADERS } from './pages.ts'

/** A response of /setup/api or /admin/api: never cached, never readable by another origin. */
export function apiReply(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  const all = { ...PAGE_HEADERS, 'content-type': 'application/json', ...headers }
  return new Response(JSON.stringify(value), { status, headers: all })
}

/** The body as a JSON object, or the response that refuses it. */
export async function readJsonObject(
  request: Request,
  limits: BodyLimits,
): Promise<Record<string, unknown> | Response> {
  const read = await readBody(request, limits)
  if (read.kind === 'fault') {
    return apiReply(read.httpStatus ?? read.error.httpStatus, { error: read.error.message })
  }
  try {
    const value: unknown = JSON.parse(read.text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>
    }
  } catch {
    // Answered below, like any other wrong body: the message repeats nothing of it, since it may hold secrets.
  }
  return apiReply(400, { error: 'The body must be a JSON object.' })
}
