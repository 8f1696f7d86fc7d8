import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { type BuyFlags, buy } from './buy.ts'
import { type Terminal, tell } from './terminal.ts'

const testnet = findNetwork('testnet')!
const URL_SOLD = 'https://api.example.com/quote'
const BINARY = Uint8Array.of(0x89, 0x50, 0xff, 0x0a)
const success = {
  'payment-response': encodeJson({ success: true, transaction: '0xab', network: testnet.id }),
}
const required = {
  x402Version: 2,
  accepts: [
    {
      ...{ scheme: 'exact', network: testnet.id, asset: testnet.token.address, amount: '1000000' },
      payTo: `0x${'22'.repeat(20)}`,
    },
  ],
}

let folder: string
let key: string
let sent: string[]
/** What happens to the payments that are sent, in this order; the last one stays. */
let paid: Array<() => Response | Promise<Response>>
/** What the chain says of them once they have expired. */
let used: boolean
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-buy-'))
  key = generatePrivateKey()
  sent = []
  used = false
  vi.stubGlobal('fetch', async (input: string | Request, init?: RequestInit) => {
    const request = new Request(input, init)
    if (request.url.startsWith('https://rpc.')) return asNode((await request.json()) as { method: string })
    if (request.url.endsWith('/discover')) return Response.json({ plans: [], routes: [] })
    const header = request.headers.get('payment-signature')
    if (header === null)
      return Response.json(required, { status: 402, headers: { 'payment-required': encodeJson(required) } })
    sent.push(header)
    return (paid.length > 1 ? paid.shift()! : paid[0]!)()
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

function asNode({ method }: { method: string }): Response {
  const results: Record<string, unknown> = {
    eth_chainId: '0x14a34',
    eth_getBlockByNumber: { number: '0x7', timestamp: `0x${Math.floor(Date.now() / 1000).toString(16)}` },
    eth_call: `0x${used ? '1'.padStart(64, '0') : '0'.repeat(64)}`,
  }
  return Response.json({ jsonrpc: '2.0', id: 1, result: results[method] })
}

const lost = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('hung up') }))
const foreign = (status: number) => () => new Response('not here', { status })
const delivered = () => new Response('what was bought', { headers: success })
const picture = () => new Response(BINARY, { headers: { ...success, 'content-type': 'image/png' } })
const brokenOff = () => {
  const pull = (controller: ReadableStreamDefaultController) =>
    controller.error(new TypeError('terminated', { cause: new Error('other side closed') }))
  return new Response(new ReadableStream({ pull }), { headers: success })
}

/** Runs the command; `isTTY`: at a terminal. */
async function run(flags: BuyFlags = {}, isTTY = false, output: Writable = new PassThrough()) {
  const errors = new PassThrough()
  const streams = { output: Object.assign(output, { isTTY }), errors, input: process.stdin }
  const terminal = { env: { BUYER_PRIVATE_KEY: key }, ...streams } as unknown as Terminal
  const all = { 'max-amount': '$1.00', payments: folder, 'rpc-url': 'https://rpc.example.com', ...flags }
  const code = await tell(terminal, flags.json === true, () => buy(terminal, URL_SOLD, all))
  const bytes: Buffer = output instanceof PassThrough ? (output.read() ?? Buffer.alloc(0)) : Buffer.alloc(0)
  return { code, bytes, text: bytes.toString(), errors: String(errors.read() ?? '') }
}
const payments = () => new Set(sent).size
const openOrders = () => readdirSync(join(folder, 'unfinished')).length

describe('an order stays open while its payment may count', () => {
  test.each([403, 404, 400])('an answer %i after a lost one decides nothing', async (status) => {
    paid = [lost, foreign(status), delivered]
    const first = await run()
    expect([first.code, openOrders()]).toEqual([1, 1])
    expect(first.errors).toContain('A payment of $1.00 was signed and may still be charged.')
    expect(await run()).toMatchObject({ code: 0, text: 'what was bought' })
    expect([payments(), openOrders()]).toEqual([1, 0])
  })

  test('a limit below the payment sends nothing, says so, and forgets nothing', async () => {
    paid = [lost, foreign(404), delivered]
    await run()
    const { code, errors } = await run({ 'max-amount': '$0.50' })
    expect(code).toBe(1)
    expect(errors).not.toContain('Nothing was paid')
    expect(errors).toContain("run the same command with --max-amount '$1.00'")
    expect((await run()).code).toBe(0)
    expect(payments()).toBe(1)
  })

  test('a plan that something in front of the gateway refuses is continued', async () => {
    const granted = () => Response.json({ type: 'AccessGrant', accessToken: 't', txHash: '0xab' })
    paid = [lost, foreign(403), granted]
    expect(await run({ plan: 'basic' })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('A payment of $1.00 was signed and may still be charged.'),
    })
    expect(await run({ plan: 'basic' })).toMatchObject({ code: 0, text: 't\n' })
    expect([payments(), openOrders()]).toEqual([1, 0])
  })

  test('it ends when nothing was signed, and when the money goes back', async () => {
    paid = [delivered]
    expect((await run({ 'max-amount': '$0.50' })).errors).toContain('Nothing was paid.')
    expect([payments(), openOrders()]).toEqual([0, 0])
    const headers = { 'x-svc-code': 'CHALLENGE_REFUNDED' }
    paid = [() => Response.json({ code: 'CHALLENGE_REFUNDED' }, { status: 410, headers })]
    expect([(await run()).code, openOrders()]).toEqual([1, 0])
  })

  test.each([
    ['unused', false, foreign(404), 0],
    ['used, and the gateway says so', true, gatewaySaysUsed, 0],
    ['used, and something else answers', true, foreign(404), 1],
  ])('after its payment has expired the chain is asked: %s', async (_name, isUsed, answer, open) => {
    used = isUsed
    paid = [answer]
    await run()
    expect(openOrders()).toBe(1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 300_000 })
    await run()
    expect([payments(), openOrders()]).toEqual([1, open])
  })
})

function gatewaySaysUsed(): Response {
  const code = 'TX_ALREADY_REDEEMED'
  return Response.json({ code }, { status: 409, headers: { 'x-svc-code': code } })
}

test.each([
  ['is a file', {}, 'a-file'],
  ['lies in a file', {}, join('a-file', 'payments')],
  ['is a file, for a plan,', { plan: 'basic' }, 'a-file'],
])('a folder of payments that %s is named before anything is paid', async (_name, flags, path) => {
  writeFileSync(join(folder, 'a-file'), 'a text')
  paid = [delivered]
  const payments = join(folder, path)
  expect(await run({ ...flags, payments })).toMatchObject({
    code: 1,
    errors: `--payments ${payments} is no folder that payments can be remembered in: there is a file in its place. Nothing was paid.\n`,
  })
  expect(sent).toEqual([])
})

describe('what was paid for is handed over', () => {
  test.each([
    ['is in no folder', () => join(folder, 'none', 'a.png')],
    ['is a folder', () => folder],
  ])('an --output that %s is found before anything is paid', async (_name, path) => {
    paid = [delivered]
    const { code, errors } = await run({ output: path() })
    expect([code, errors]).toEqual([1, expect.stringContaining(`--output ${path()} cannot be written`)])
    expect(sent).toEqual([])
  })

  test('the --output has the answer alone; a purchase that fails leaves what was there', async () => {
    const [old, fresh] = [join(folder, 'old'), join(folder, 'fresh')]
    writeFileSync(old, 'a longer text from before')
    const tooLow = { 'max-amount': '$0.50' }
    for (const output of [old, fresh]) expect((await run({ ...tooLow, output })).code).toBe(1)
    expect([readFileSync(old, 'utf8'), existsSync(fresh)]).toEqual(['a longer text from before', false])
    paid = [picture]
    expect(await run({ output: old })).toMatchObject({ code: 0, text: '' })
    expect(new Uint8Array(readFileSync(old))).toEqual(BINARY)
  })

  test('bytes go to a pipe as they are, and nothing after them', async () => {
    paid = [picture]
    expect(new Uint8Array((await run()).bytes)).toEqual(BINARY)
  })

  test('JSON has them as base64', async () => {
    paid = [picture]
    const { text } = await run({ json: true })
    expect(JSON.parse(text)).toMatchObject({
      body: Buffer.from(BINARY).toString('base64'),
      encoding: 'base64',
    })
    paid = [delivered]
    const told = JSON.parse((await run({ json: true })).text)
    expect([told.body, 'encoding' in told]).toEqual(['what was bought', false])
  })

  test('a terminal shows text, and is told in which file bytes are', async () => {
    paid = [delivered]
    expect((await run({}, true)).text).toBe('what was bought\n')
    paid = [picture]
    const { text, errors } = await run({}, true)
    expect(text).toBe('')
    const [, file] = /4 bytes, which are no text, are in (\S+)/.exec(errors)!
    expect(new Uint8Array(readFileSync(file!))).toEqual(BINARY)
  })

  test.each([{}, { json: true }, { plan: 'basic' }])(
    'where it cannot be written the order stays open, %o',
    async (flags) => {
      const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('ENOSPC')) })
      full.on('error', () => {})
      const granted = () =>
        Response.json({ type: 'AccessGrant', accessToken: 't', txHash: '0xab' }, { headers: success })
      paid = [granted]
      expect((await run(flags, false, full)).code).toBe(1)
      expect(openOrders()).toBe(1)
      expect((await run(flags)).code).toBe(0)
      expect([payments(), openOrders()]).toEqual([1, 0])
    },
  )

  test('an answer that breaks off is not called unpaid, and the same command asks for it again', async () => {
    paid = [brokenOff, delivered]
    const { code, errors } = await run()
    expect([code, openOrders()]).toEqual([1, 1])
    expect(errors).toContain('Its answer broke off. Run the same command again: it does not pay twice.')
    expect(errors).not.toContain('Nothing was paid')
    expect(await run()).toMatchObject({ code: 0, text: 'what was bought' })
    expect(payments()).toBe(1)
  })
})
