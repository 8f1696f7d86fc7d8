import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { FetchHandler } from '../frameworks/node-bridge.ts'
import { readBytes } from '../transports/http/read-body.ts'
import { toResponse } from '../transports/http/reply.ts'
import { type HttpServer, type ServeHttpOptions, serveHttp } from './serve-http.ts'

const servers: HttpServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0)
})

async function serve(handler: FetchHandler, options: Partial<ServeHttpOptions> = {}): Promise<HttpServer> {
  const server = await serveHttp({ handler, port: 0, host: '127.0.0.1', ...options })
  servers.push(server)
  return server
}

/** A raw connection, with the text received so far and a promise of all of it. */
async function dial(
  port: number,
): Promise<{ socket: Socket; received: () => string; ended: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  // Not `once`: that would reject when the server resets the connection, as it should in some of these tests.
  const ended = new Promise((resolve) => socket.on('close', resolve))
  await once(socket, 'connect')
  return { socket, received: () => text, ended }
}

const hello: FetchHandler = async () => new Response('hello')
const echo: FetchHandler = async (request) => new Response(await request.text())

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

describe('limits of a public port (attack 33)', () => {
  test('8 MB of headers are answered 431', async () => {
    const { port } = await serve(hello)
    const { socket, received, ended } = await dial(port)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n')
    for (let sent = 0; sent < 8 && !socket.destroyed; sent++)
      socket.write(`x-${sent}: ${'a'.repeat(1024 * 1024)}\r\n`)
    await ended
    expect(received()).toMatch(/^HTTP\/1\.1 431 /)
    expect(received()).toContain('"httpStatus":431')
  })

  test('headers of 60 KiB reach the handler, so that it can explain', async () => {
    const { url } = await serve(
      async (request) => new Response(String(request.headers.get('payment-signature')?.length)),
    )
    const answer = await fetch(url, { headers: { 'payment-signature': 'a'.repeat(60_000) } })
    expect(await answer.text()).toBe('60000')
  })

  test('a limit that is raised while the server runs applies to the next slow body', async () => {
    let limitMs = 1_000
    const { port } = await serve(echo, { requestTimeoutMs: () => limitMs, headersTimeoutMs: 800 })
    const post = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\n'
    const cut = await dial(port)
    cut.socket.write(`${post}ab`)
    await cut.ended
    expect(cut.received()).toMatch(/^HTTP\/1\.1 408 /)
    limitMs = 60_000
    const slow = await dial(port)
    slow.socket.write(`${post}ab`)
    await new Promise((turn) => setTimeout(turn, 2_000))
    slow.socket.write('cd')
    await slow.ended
    expect(slow.received()).toMatch(/^HTTP\/1\.1 200 .*abcd/s)
  })

  test('headers that arrive too slowly are answered 408', async () => {
    const { port } = await serve(hello, { headersTimeoutMs: 100 })
    const { socket, received, ended } = await dial(port)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nx-slow')
    await ended
    expect(received()).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('a body that arrives too slowly is answered 408, and the handler is told that the request was aborted', async () => {
    const { opened: failed, open } = gate()
    const handler: FetchHandler = async (request) => {
      await request.text().catch(open)
      return new Response('too late')
    }
    const { port } = await serve(handler, { headersTimeoutMs: 100, requestTimeoutMs: 150 })
    const { socket, received, ended } = await dial(port)
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc')
    await ended
    await failed
    expect(received()).toMatch(/^HTTP\/1\.1 408 /)
    expect(received()).not.toContain('too late')
  })

  test('an answer sent before a huge body has arrived reaches the client, and then the connection is cut', async () => {
    const { port } = await serve(async () => new Response('too large', { status: 413 }))
    const { socket, received, ended } = await dial(port)
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000000\r\n\r\n')
    const chunk = Buffer.alloc(256 * 1024)
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', pump)
    pump()
    await ended
    expect(received()).toMatch(/^HTTP\/1\.1 413 /)
    expect(received()).toMatch(/connection: close/i)
    expect(received()).toContain('too large')
    expect(socket.bytesWritten).toBeLessThan(1_000_000_000_000)
  })

  test.each(['one request', 'two requests, the second of them cut off'])(
    'bytes that are not HTTP after %s get no answer that would be taken for its own',
    async (how) => {
      const { opened, open } = gate()
      const { opened: entered, open: enter } = gate()
      const { port } = await serve(async () => {
        enter()
        await opened
        return new Response('paid')
      })
      const { socket, received, ended } = await dial(port)
      socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
      await entered
      if (how !== 'one request')
        socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
      socket.write('\x16\x03\x01 hello\r\n\r\n')
      await ended
      open()
      expect(received()).toBe('')
    },
  )

  test('what is not HTTP after an answer is answered 400', async () => {
    const { port } = await serve(hello)
    const { socket, received, ended } = await dial(port)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'data')
    socket.write('\x16\x03\x01 hello\r\n\r\n')
    await ended
    expect(received()).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 400 /s)
  })

  test('what is not HTTP is answered 400', async () => {
    const { port } = await serve(hello)
    const { socket, received, ended } = await dial(port)
    socket.write('\x16\x03\x01 hello\r\n\r\n')
    await ended
    expect(received()).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('closing', () => {
  test('requests in flight are answered, idle connections are closed, new ones refused', async () => {
    const { opened, open } = gate()
    const { opened: entered, open: enter } = gate()
    const server = await serve(async (request) => {
      if (!request.url.endsWith('/slow')) return new Response('fast')
      enter()
      await opened
      return new Response('done')
    })
    const idle = await dial(server.port)
    idle.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    const slow = await dial(server.port)
    slow.socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n')
    await entered
    const closed = server.close()
    await idle.ended
    await expect(fetch(server.url)).rejects.toThrow()
    open()
    await closed
    await slow.ended
    expect(slow.received()).toContain('done')
    expect(slow.received()).toMatch(/connection: close/i)
    expect(idle.received()).not.toMatch(/connection: close/i)
  })

  test('closing waits for a handler whose client has left', async () => {
    const { opened, open } = gate()
    const { opened: entered, open: enter } = gate()
    let settled = false
    const server = await serve(async () => {
      enter()
      await opened
      settled = true
      return new Response('granted')
    })
    const { socket, ended } = await dial(server.port)
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
    await entered
    socket.destroy()
    await ended
    let closed = false
    const closing = server.close().then(() => {
      closed = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(closed).toBe(false)
    open()
    await closing
    expect(settled).toBe(true)
  })

  test('a request that outlasts the grace period is cut, and a second close waits for the first', async () => {
    const { opened: entered, open: enter } = gate()
    const server = await serve(() => {
      enter()
      return new Promise<Response>(() => {})
    })
    const { socket, ended } = await dial(server.port)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await entered
    await Promise.all([server.close(20), server.close(20)])
    await ended
  })

  test('a port that is taken rejects', async () => {
    const { port } = await serve(hello)
    await expect(serve(hello, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

test('requests with bodies share a connection', async () => {
  const { port } = await serve(echo)
  const { socket, received, ended } = await dial(port)
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\none')
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nconnection: close\r\n\r\ntwo')
  await ended
  expect(received()).toMatch(/one[\s\S]*two/)
  expect(received().match(/HTTP\/1\.1 200/g)).toHaveLength(2)
})

describe('a body', () => {
  const limits = { maxBodyBytes: 10, requestTimeoutMs: 1000 }
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n'

  /** Answers with what it read, and says whether it had to wait for that. */
  const reader = (waited: boolean[]): FetchHandler => {
    return async (request) => {
      const reading = readBytes(request, limits)
      const nextTurn = new Promise<undefined>((resolve) => setImmediate(resolve, undefined))
      waited.push((await Promise.race([reading, nextTurn])) === undefined)
      const found = await reading
      const body = found.kind === 'bytes' ? Buffer.from(found.bytes).toString() : found.error.code
      return toResponse({ status: 200, headers: {}, body }, request)
    }
  }

  test('that came with its headers is there at once; one that did not is waited for; a missing one does not end the connection', async () => {
    const waited: boolean[] = []
    const { port } = await serve(reader(waited))
    const { socket, received, ended } = await dial(port)
    const answers = (count: number) =>
      expect.poll(() => received().match(/HTTP\/1\.1 200/g)?.length ?? 0).toBe(count)
    socket.write(`${head}\r\none`)
    await answers(1)
    socket.write(`${head}\r\nt`)
    await expect.poll(() => waited.length).toBe(2)
    socket.write('wo')
    await answers(2)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await answers(3)
    // All at once: two with a body, one without, one too large.
    const tooLarge = head.replace('3', '11')
    socket.write(`${head}\r\nabcGET / HTTP/1.1\r\nhost: x\r\n\r\n${head}\r\ndef`)
    await answers(6)
    expect(received()).not.toMatch(/connection: close/i)
    socket.write(`${tooLarge}connection: close\r\n\r\n01234567890`)
    await ended
    expect(received()).toMatch(/one.*two.*abc.*def.*BODY_TOO_LARGE/s)
    expect(waited.filter(Boolean)).toHaveLength(1)
  })
})
