import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../../errors.ts'
import { isNestedTooDeep, MAX_JSON_DEPTH } from '../../protocol/json-depth.ts'
import { inexactNumber } from '../../protocol/json-numbers.ts'
import { type BodySource, bodySourceOf, dropsBody, headerOf, takeArrived } from './native-request.ts'

export interface BodyLimits {
  maxBodyBytes: number
  requestTimeoutMs: number
}

const BYTE_ORDER_MARK = '\ufeff'

type BodyFault = { kind: 'fault'; error: GatewayError; httpStatus?: number }
export type BodyRead = { kind: 'text'; text: string } | BodyFault
export type BytesRead = { kind: 'bytes'; bytes: Uint8Array } | BodyFault

/**
 * Reads a body as UTF-8 text that is to be JSON. What is nested absurdly deep is refused before anybody parses it, and so is a
 * number that would be another one afterwards: it may be part of a call that is to be sold.
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<BodyRead> {
  const read = await readBytes(request, limits)
  return read.kind === 'fault' ? read : decodeBody(read.bytes)
}

const NO_BODY: BytesRead = { kind: 'bytes', bytes: new Uint8Array() }

/**
 * Reads a body. It never holds more than the cap and never waits longer than the limit: the bytes are counted as
 * they arrive, for a declared length may lie or be absent. A body that cannot be read is refused, since a call without
 * it would be another one than was meant.
 */
export async function readBytes(request: Request, limits: BodyLimits): Promise<BytesRead> {
  const { maxBodyBytes, requestTimeoutMs } = limits
  if (Number(headerOf(request, 'content-length')) > maxBodyBytes) return tooLarge(maxBodyBytes)
  let source: BodySource | undefined
  try {
    source = bodySourceOf(request)
  } catch {
    return broken()
  }
  if (!source) return dropsBody(request) ? unfit(request.method) : NO_BODY
  const bytes = takeArrived(request)
  if (bytes) return bytes.byteLength > maxBodyBytes ? tooLarge(maxBodyBytes) : { kind: 'bytes', bytes }
  return push(source, maxBodyBytes, requestTimeoutMs)
}

function push(source: BodySource, maxBodyBytes: number, requestTimeoutMs: number): Promise<BytesRead> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let size = 0
    let settled = false
    let stop: (() => void) | undefined
    const settle = (read: BytesRead) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      stop?.()
      resolve(read)
    }
    const timer = setTimeout(() => settle(timedOut(requestTimeoutMs)), requestTimeoutMs)
    try {
      stop = source({
        chunk(bytes) {
          size += bytes.byteLength
          if (size > maxBodyBytes) settle(tooLarge(maxBodyBytes))
          else if (!settled) chunks.push(bytes)
        },
        end: () => settle({ kind: 'bytes', bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }),
        fail: () => settle(broken()),
      })
      if (settled) stop()
    } catch {
      settle(broken())
    }
  })
}

/** UTF-8, not nested absurdly deep, and with numbers that survive being parsed. */
export function decodeBody(bytes: Uint8Array): BodyRead {
  if (!isUtf8(bytes)) {
    return {
      kind: 'fault',
      error: new GatewayError('INVALID_REQUEST', 'the body is not UTF-8 text; send JSON in UTF-8'),
    }
  }
  const { buffer, byteOffset, byteLength } = bytes
  const whole = Buffer.from(buffer, byteOffset, byteLength).toString('utf8')
  const text = whole.startsWith(BYTE_ORDER_MARK) ? whole.slice(1) : whole
  if (isNestedTooDeep(text)) {
    const message = `the body is nested more than ${MAX_JSON_DEPTH} levels deep; send a flatter one`
    return { kind: 'fault', error: new GatewayError('INVALID_REQUEST', message) }
  }
  const number = inexactNumber(text)
  if (number === undefined) return { kind: 'text', text }
  const message = `the body has the number ${number.slice(0, 100)}, which is another one once JavaScript has read it; nothing was charged`
  const hint = "send it as a text, or call the route's own path, whose body is passed on byte for byte"
  return { kind: 'fault', error: new GatewayError('INVALID_REQUEST', message, { hint }) }
}

function tooLarge(maxBodyBytes: number): BodyFault {
  return {
    kind: 'fault',
    error: new GatewayError('BODY_TOO_LARGE', `the body exceeds ${maxBodyBytes} bytes`),
  }
}

const unfit = (method: string): BodyFault => ({
  kind: 'fault',
  error: unfitBody(method, 'a body and its headers (content-length, transfer-encoding)'),
})

/** A GET or HEAD with a body: it cannot be passed on. */
export function unfitBody(method: string, without: string): GatewayError {
  const message = `a ${method} request has no body here; nothing was charged`
  const hint = `send it without ${without}; what it says may go into the query`
  return new GatewayError('INVALID_REQUEST', message, { hint })
}

function timedOut(timeoutMs: number): BodyFault {
  const message = `the body did not arrive within ${timeoutMs / 1000} s; nothing was charged`
  const hint = 'send the whole request again'
  return { kind: 'fault', error: new GatewayError('INVALID_REQUEST', message, { hint }), httpStatus: 408 }
}

function broken(): BodyFault {
  const message = 'the body ended early or was read by other code before; nothing was charged'
  return { kind: 'fault', error: new GatewayError('INVALID_REQUEST', message) }
}
