import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../protocol/error-codes.ts'
import { bodyFor } from '../transports/http/problem-body.ts'

/** The error body of every transport, for faults that no handler of ours has seen. */
export function faultBody(httpStatus: number, code: ErrorCode, message: string): string {
  return bodyFor({ type: 'Error', code, message, httpStatus }).text
}

/** A fault as a response to a request with these headers. */
export function faultResponse(
  status: number,
  code: ErrorCode,
  message: string,
  asked?: IncomingHttpHeaders,
): Response {
  const { contentType, text } = bodyFor({ type: 'Error', code, message, httpStatus: status }, asked)
  const headers = { 'content-type': contentType, 'cache-control': 'no-store', 'x-svc-code': code }
  return new Response(text, { status, headers })
}
