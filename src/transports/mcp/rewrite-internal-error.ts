const INTERNAL_ERROR = -32603
const INVALID_PARAMS = -32602
const SUSPECT = `"code":${INTERNAL_ERROR}`

/**
 * The protocol's library answers an internal error in two cases: when it cannot read the params, in the words of its
 * validator, and when our own code throws. The first is the client's fault and is told as such. The second is reported to
 * the operator, and the client learns no details.
 */
export function rewriteInternalError(body: string | null, report: (error: unknown) => void): string | null {
  if (!body?.includes(SUSPECT)) return body
  const answer = JSON.parse(body) as { error?: { code: number; message: string } }
  if (answer.error?.code !== INTERNAL_ERROR) return body
  const field = faultyField(answer.error.message)
  if (field !== undefined) {
    const message = `${field} is missing or malformed; see the MCP specification for the shape of this method's params.`
    return JSON.stringify({ ...answer, error: { code: INVALID_PARAMS, message } })
  }
  report(new Error(`mcp: ${answer.error.message}`))
  const message = 'the gateway met an unexpected fault; send the same request again'
  return JSON.stringify({ ...answer, error: { code: INTERNAL_ERROR, message } })
}

/** Where the validator found the first fault; undefined when these are not its words. */
function faultyField(message: string): string | undefined {
  try {
    const issues = JSON.parse(message) as Array<{ path: Array<string | number> }>
    return issues[0]?.path.join('.').slice(0, 200) || 'the message'
  } catch {
    return undefined
  }
}
