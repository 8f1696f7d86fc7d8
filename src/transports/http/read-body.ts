import { GatewayError } from '../../errors.ts'
import { bodySourceOf } from './native-request.ts'

export interface BodyLimits {
  maxBodyBytes: number
  requestTimeoutMs: number
}

export type BodyRead =
  | { kind: 'text'; text: string }
  | { kind: 'fault'; error: GatewayError; httpStatus?: number }

/**
 * Reads a body as UTF-8 text. It never holds more than the cap and never waits longer than the limit: the bytes
 * are counted as they arrive, for a declared length may lie or be absent.
 */
export function readBody(request: Request, limits: BodyLimits): Promise<BodyRead> {
  const { maxBodyBytes, requestTimeoutMs } = limits
  if (Number(request.headers.get('content-length')) > maxBodyBytes)
    return Promise.resolve(tooLarge(maxBodyBytes))
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let size = 0
    let settled = false
    let stop: (() => void) | undefined
    const settle = (read: BodyRead) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      stop?.()
      resolve(read)
    }
    const timer = setTimeout(() => settle(timedOut(requestTimeoutMs)), requestTimeoutMs)
    try {
      const source = bodySourceOf(request)
      if (!source) return settle({ kind: 'text', text: '' })
      stop = source({
        chunk(bytes) {
          size += bytes.byteLength
          if (size > maxBodyBytes) settle(tooLarge(maxBodyBytes))
          else if (!settled) chunks.push(bytes)
        },
        end: () => settle(decode(chunks)),
        fail: () => settle(broken()),
      })
      if (settled) stop()
    } catch {
      settle(broken())
    }
  })
}

function decode(chunks: Uint8Array[]): BodyRead {
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return {
      kind: 'fault',
      error: new GatewayError('INVALID_REQUEST', 'the body is not UTF-8 text; send JSON in UTF-8'),
    }
  }
}

function tooLarge(maxBodyBytes: number): BodyRead {
  return {
    kind: 'fault',
    error: new GatewayError('BODY_TOO_LARGE', `the body exceeds ${maxBodyBytes} bytes`),
  }
}

function timedOut(timeoutMs: number): BodyRead {
  const message = `the body did not arrive within ${timeoutMs / 1000} s; nothing was charged`
  const hint = 'send the whole request again'
  return { kind: 'fault', error: new GatewayError('INVALID_REQUEST', message, { hint }), httpStatus: 408 }
}

function broken(): BodyRead {
  const message = 'the body ended early or was read by other code before; nothing was charged'
  return { kind: 'fault', error: new GatewayError('INVALID_REQUEST', message) }
}
