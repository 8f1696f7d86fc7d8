/** The error body of every transport, for faults that no handler of ours has seen. */
export function faultBody(httpStatus: number, code: string, message: string): string {
  return JSON.stringify({ type: 'Error', code, message, httpStatus })
}

/** A fault as a response. */
export function faultResponse(status: number, code: string, message: string): Response {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-svc-code': code }
  return new Response(faultBody(status, code, message), { status, headers })
}
