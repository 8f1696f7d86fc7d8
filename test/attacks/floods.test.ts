import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveHttp } from '../../src/server/serve-http.ts'
import { eventually, PRICE, startWorld, type World } from '../e2e/world.ts'

const MIB = 1024 * 1024

let world: World
/** The same gateway behind short timeouts; a server process has its own, of 10 s. */
let hasty: { url: string; close(): Promise<void> }
beforeAll(async () => {
  world = await startWorld({ options: { requestTimeoutSeconds: 1 } })
  if (world.apart) {
    hasty = { url: world.baseUrl, close: async () => {} }
    return
  }
  const handler = world.gateway.fetch
  hasty = await serveHttp({
    handler,
    port: 0,
    host: '127.0.0.1',
    headersTimeoutMs: 400,
    requestTimeoutMs: 800,
  })
})
afterAll(async () => {
  await hasty.close()
  await world.stop()
})

interface Raw {
  socket: Socket
  /** What the server has answered so far. */
  said(): string
  /** Until the server has closed the connection. */
  over: Promise<string>
}

function open(url: string): Raw {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  // The server may cut a sender that does not stop; that is the point of these tests.
  socket.on('error', () => undefined)
  const over = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  return { socket, said: () => text, over }
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
const post = (headers: string) => `POST /x402/access HTTP/1.1\r\nhost: x\r\n${headers}\r\n`

/** Pushes until the server hangs up, or `bytes` were taken. */
async function flood({ socket, over }: Raw, chunk: Buffer, bytes: number): Promise<number> {
  let gone = false
  void over.then(() => {
    gone = true
  })
  let pushed = 0
  while (!gone && pushed < bytes) {
    pushed += chunk.length
    if (!socket.write(chunk)) await Promise.race([new Promise((room) => socket.once('drain', room)), over])
  }
  return pushed
}

/** The gateway is alive and still sells. */
async function expectStillSelling(): Promise<void> {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  expect(await world.buy(buyer)).toMatchObject({ status: 200 })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
}

test('attack 33: a header of 8 MB gets 431', async () => {
  const raw = open(world.baseUrl)
  raw.socket.write('POST /x402/access HTTP/1.1\r\nhost: x\r\npayment-signature: ')
  await flood(raw, Buffer.alloc(64 * 1024, 'a'), 8 * MIB)
  expect(statusOf(await raw.over)).toBe(431)
  await expectStillSelling()
})

test('attack 33: a payment of more than 8 KiB, or two of them, get a 400 that says so', async () => {
  const large = await world.access({}, { 'payment-signature': 'a'.repeat(16 * 1024) })
  expect(large).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  expect(large.body.message).toContain('8192')
  const raw = open(world.baseUrl)
  const twice = 'payment-signature: e30=\r\npayment-signature: e30=\r\n'
  raw.socket.write(post(`${twice}content-length: 0\r\nconnection: close\r\n`))
  const answer = await raw.over
  expect(statusOf(answer)).toBe(400)
  expect(answer).toContain('more than once')
})

test('attack 33: an announced body of 1 GB gets 413 before it is sent', async () => {
  const raw = open(world.baseUrl)
  raw.socket.write(post(`content-type: application/json\r\ncontent-length: ${1024 * MIB}\r\n`))
  const answer = await eventually(() => raw.said().includes('BODY_TOO_LARGE') && raw.said())
  expect(statusOf(answer)).toBe(413)
  await raw.over
})

test('attack 33: an endless body without a length gets 413 and is cut, and memory stays bounded', async () => {
  const raw = open(world.baseUrl)
  raw.socket.write(post('content-type: application/json\r\ntransfer-encoding: chunked\r\n'))
  const before = world.rssBytes()
  const piece = Buffer.alloc(64 * 1024, ' ')
  const chunk = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
  // Far more than this machine can send in the second that a refused client is listened to.
  const endless = 64 * 1024 * MIB
  const pushed = await flood(raw, chunk, endless)
  const answer = await raw.over
  expect(statusOf(answer)).toBe(413)
  expect(answer).toContain('BODY_TOO_LARGE')
  expect(pushed).toBeLessThan(endless)
  expect(world.rssBytes() - before).toBeLessThan(200 * MIB)
  await expectStillSelling()
})

test('attack 33: 200 slow-loris connections are cut, and others are served meanwhile', async () => {
  const slow = Array.from({ length: 200 }, () => open(hasty.url))
  for (const { socket } of slow) socket.write('POST /x402/access HTTP/1.1\r\nhost: x\r\n')
  const drip = setInterval(() => {
    for (const { socket } of slow) if (socket.writable) socket.write('x-drip: 1\r\n')
  }, 100)
  const discovered = await fetch(`${hasty.url}/discover`)
  expect(discovered.status).toBe(200)
  const answers = await Promise.all(slow.map(({ over }) => over))
  clearInterval(drip)
  expect(new Set(answers.map(statusOf))).toEqual(new Set([408]))
})

test('attack 33: a body that drips is timed out', async () => {
  const raw = open(hasty.url)
  raw.socket.write(post('content-type: application/json\r\ncontent-length: 1000\r\n'))
  const drip = setInterval(() => raw.socket.writable && raw.socket.write(' '), 100)
  const answer = await raw.over
  clearInterval(drip)
  expect(statusOf(answer)).toBe(408)
})
