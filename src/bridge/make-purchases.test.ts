import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BuyerClock, fileStorage } from '../buyer/index.ts'
import { encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { openLedger } from './ledger.ts'
import { createPurchases, type Made } from './make-purchases.ts'
import { createConnections } from './mcp-connections.ts'
import { openOrderBook } from './order-book.ts'
import type { Terms } from './terms.ts'

/** A seller of anybody's: it takes payments, and does with them what the test says. */
let seller: {
  url: string
  paid: string[]
  answer: (response: ServerResponse) => void
  /** True: it has answered, and asks for no payment. */
  ask?: (request: IncomingMessage, response: ServerResponse) => boolean
  stop(): void
}
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-purchases-'))
  const server = createServer((request, response) => serve(request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  seller = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/thing`,
    paid: [],
    answer: (response) => void response.end('here it is'),
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
})
afterEach(() => {
  seller.stop()
  rmSync(folder, { recursive: true, force: true })
})

const { id: network, token } = findNetwork('base-sepolia')!
function serve(request: IncomingMessage, response: ServerResponse): void {
  if (seller.ask?.(request, response)) return
  const payment = request.headers['payment-signature']
  if (payment !== undefined) {
    seller.paid.push(String(payment))
    seller.answer(response)
    return
  }
  const payTo = `0x${'22'.repeat(20)}`
  const accepts = [{ scheme: 'exact', network, asset: token.address, amount: '10000', payTo, extra: {} }]
  response.writeHead(402).end(JSON.stringify({ x402Version: 2, accepts }))
}

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
/** A process of its own would see the same files. */
function open(
  more: {
    hosts?: string[]
    maxTotal?: bigint
    maxBytes?: number
    deadlineMs?: number
    clock?: BuyerClock
  } = {},
) {
  const ledger = openLedger(join(folder, 'ledger.jsonl'))
  const book = openOrderBook(folder, account.address)
  const purchases = createPurchases({
    account,
    maxAmount: '$0.01',
    maxTotal: '$0.03',
    maxTotalMicro: more.maxTotal ?? 30_000n,
    allowedHosts: more.hosts ?? [new URL(seller.url).host],
    payments: fileStorage(join(folder, 'payments')),
    ledger,
    book,
    connections: createConnections('0', { maxBytes: 1000 }),
    maxBytes: more.maxBytes ?? 1000,
    say: () => {},
    ...(more.deadlineMs !== undefined && { deadlineMs: more.deadlineMs }),
    ...(more.clock && { clock: more.clock }),
  })
  return { purchases, ledger, book }
}
const call = () => ({ kind: 'call', method: 'GET', url: seller.url }) as const
const textOf = (made: Made) =>
  made.kind === 'answered'
    ? made.result.content.map((part) => ('text' in part ? part.text : `(${part.type})`)).join(' ')
    : ''

test('an answer is kept until it is handed over; then the same call is a new purchase', async () => {
  const { purchases, book } = open()
  const made = await purchases.make(call(), undefined)
  expect(textOf(made)).toContain('here it is')
  expect(book.answers()).toHaveLength(1)
  // It never reached whoever asked, so that the next one gets it for nothing.
  const again = await open().purchases.make(call(), undefined)
  expect(textOf(again)).toContain('had not reached you')
  expect(seller.paid).toHaveLength(1)
  if (again.kind === 'answered') again.handedOver()
  await purchases.make(call(), undefined)
  expect(new Set(seller.paid).size).toBe(2)
})

test('the same call at the same time is one purchase', async () => {
  const { purchases } = open()
  await Promise.all([1, 2, 3].map(() => purchases.make(call(), undefined)))
  expect(seller.paid).toHaveLength(1)
})

test('a seller that took the payment and refuses gets the same payment again, never another one', async () => {
  seller.answer = (response) => void response.writeHead(400).end('no')
  const { purchases, ledger } = open()
  expect(textOf(await purchases.make(call(), undefined))).toMatch(
    /may still be charged\. The same call sends the same/,
  )
  await open().purchases.finishEarlier()
  await purchases.make(call(), undefined)
  expect(seller.paid).toHaveLength(3)
  expect(new Set(seller.paid).size).toBe(1)
  expect(await ledger.spentTodayMicro()).toBe(10_000n)
  seller.answer = (response) => void response.end('after all')
  expect(textOf(await purchases.make(call(), undefined))).toContain('after all')
  expect(new Set(seller.paid).size).toBe(1)
})

test('an answer that is too long is paid for once, and said', async () => {
  seller.answer = (response) => void response.end('x'.repeat(2000))
  const made = await open().purchases.make(call(), undefined)
  expect(textOf(made)).toMatch(/sent more than 1000 bytes.*\$0\.01 was paid/)
})

const MIB = 1024 * 1024
test.each([
  ['control characters', Buffer.alloc(3 * MIB, 1), '(resource)', 'text/plain'],
  ['quotes', Buffer.alloc(3 * MIB, '"'), '"', 'text/plain'],
  ['a picture', Buffer.alloc(3 * MIB, 1), '(image)', 'image/png'],
])('a paid answer of %s fits a message', async (_what, body, content, type) => {
  seller.answer = (response) => void response.writeHead(200, { 'content-type': type }).end(body)
  const made = await open({ maxBytes: 100 * MIB }).purchases.make(call(), undefined)
  expect(textOf(made).startsWith(content)).toBe(true)
  expect(JSON.stringify(made).length).toBeLessThan(9 * MIB)
})

test.each([
  ['text', Buffer.alloc(9 * MIB, 'a'), 'text/plain'],
  ['a picture', Buffer.alloc(7 * MIB, 1), 'image/png'],
])(
  'a paid answer of %s that no message can hold is in a file of the owner alone',
  async (_what, body, type) => {
    seller.answer = (response) => void response.writeHead(200, { 'content-type': `${type}; x=1` }).end(body)
    const made = await open({ maxBytes: 100 * MIB }).purchases.make(call(), undefined)
    const text = textOf(made)
    expect(text).toContain(`its ${body.length} bytes (${type}) are in the file ${folder}`)
    const file = /in the file (\S+)/.exec(text)![1]!
    expect(readFileSync(file).equals(body)).toBe(true)
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700])
    // Until it is handed over, the same call names the same file.
    expect(textOf(await open().purchases.make(call(), undefined))).toContain(file)
    expect(seller.paid).toHaveLength(1)
  },
)

test('an answer that cannot be kept leaves the order open, and the same call asks for it with the same payment', async () => {
  seller.answer = (response) => void response.end(Buffer.alloc(9 * MIB, 'a'))
  writeFileSync(join(folder, 'files'), 'no folder')
  const { purchases, book } = open({ maxBytes: 100 * MIB })
  expect(textOf(await purchases.make(call(), undefined))).toMatch(
    /EEXIST.* The same call sends the same payment/,
  )
  expect(book.unfinished()).toHaveLength(1)
  rmSync(join(folder, 'files'))
  expect(textOf(await purchases.make(call(), undefined))).toContain('in the file')
  expect(new Set(seller.paid).size).toBe(1)
})

test('of a long word of the seller’s, what it calls the transaction is cut', async () => {
  const transaction = 'a'.repeat(10_000)
  const receipt = encodeJson({ success: true, network, transaction })
  seller.answer = (response) => void response.writeHead(200, { 'payment-response': receipt }).end('it')
  const { purchases, ledger } = open()
  expect(textOf(await purchases.make(call(), undefined)).length).toBeLessThan(500)
  expect((await ledger.entries())[0]!.transaction).toHaveLength(128)
})

/** Sends a byte now and then, for as long as anybody reads. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('.'), 10)
  response.once('close', () => clearInterval(timer))
}

test('an answer that drips is given up at the deadline, and the same call continues with the same payment', async () => {
  let closed = 0
  seller.answer = (response) => {
    response.once('close', () => closed++)
    drip(response)
  }
  // Long enough for a busy machine to pay, and to begin with the answer.
  const { purchases } = open({ deadlineMs: 2000 })
  const told = textOf(await purchases.make(call(), undefined))
  expect(told).toMatch(/had not finished its answer after 2 seconds\..*sends the same payment again/)
  await purchases.settled()
  await expect.poll(() => closed).toBe(1)
  seller.answer = (response) => void response.end('after all')
  expect(textOf(await purchases.make(call(), undefined))).toContain('after all')
  expect(new Set(seller.paid).size).toBe(1)
})

test('a free answer that drips is given up, and leaves nothing open', async () => {
  seller.ask = (_request, response) => {
    drip(response)
    return true
  }
  const { purchases, book } = open({ deadlineMs: 200 })
  expect(textOf(await purchases.make(call(), undefined))).toMatch(/after 0\.2 seconds\. Nothing was paid\./)
  expect(book.unfinished()).toEqual([])
})

describe('a call that is made with credits', () => {
  /** The keys under which it was debited. */
  let debited: Set<string>
  let answer: (response: ServerResponse) => void
  const charged = { 'x-svc-credits-charged': '1', 'x-svc-credits-remaining': '8' }
  const prepaid = (response: ServerResponse) => void response.writeHead(200, charged).end('weather')
  const lost = (response: ServerResponse) => void response.destroy()
  const brokenOff = (response: ServerResponse) =>
    void response.writeHead(200, charged).write('weat', () => response.destroy())
  const dripping = (response: ServerResponse) => drip(response.writeHead(200, charged))
  let aheadMs: number
  const clock: BuyerClock = {
    now: () => Date.now() + aheadMs,
    sleep: async (ms) => {
      aheadMs += ms
    },
  }

  beforeEach(async () => {
    debited = new Set()
    answer = prepaid
    aheadMs = 0
    seller.ask = ({ url, headers }, response) => {
      const json = (value: object) => void response.end(JSON.stringify(value))
      if (url === '/discover') {
        const plans = [{ planId: 'p', unitAmount: '$0.01', credits: 10 }]
        const routes = [{ routeId: 'w', method: 'GET', path: '/thing', unitAmount: '$0.01', credits: 1 }]
        json({ agentName: 'a', plans, routes })
      } else if (url === '/x402/access' && headers['payment-signature'] !== undefined) {
        json({ type: 'AccessGrant', accessToken: 'tok', txHash: '0xab', resourceId: 'default', planId: 'p' })
      } else if (headers.authorization === 'Bearer tok') {
        debited.add(String(headers['idempotency-key']))
        answer(response)
      } else return false
      return true
    }
    const baseUrl = new URL(seller.url).origin
    const made = await open().purchases.make({ kind: 'plan', baseUrl, planId: 'p' }, undefined)
    expect(textOf(made)).toContain('"tok"')
  })

  test.each([
    ['is lost', () => lost],
    ['breaks off', () => brokenOff],
    ['drips', () => dripping],
  ])('is debited once if its answer %s', async (_how, first) => {
    answer = first()
    const told = textOf(await open({ clock, deadlineMs: 1000 }).purchases.make(call(), undefined))
    expect(told).toMatch(
      /may have been debited to credits\. The same call continues it, and is debited once\./,
    )
    expect(told).not.toMatch(/Idempotency-Key|Nothing was/)
    answer = prepaid
    // Another process, which looks at what the first has left.
    const { purchases, book } = open({ clock })
    await purchases.finishEarlier()
    expect(textOf(await purchases.make(call(), undefined))).toContain('weather')
    expect(debited.size).toBe(1)
    expect(book.unfinished()).toEqual([])
  })

  test('is answered once more where the answer was not handed over', async () => {
    await open().purchases.make(call(), undefined)
    const again = await open().purchases.make(call(), undefined)
    expect(textOf(again)).toMatch(/weather.*had not reached you/)
    expect(debited.size).toBe(1)
    if (again.kind === 'answered') again.handedOver()
    await open().purchases.make(call(), undefined)
    expect(debited.size).toBe(2)
  })

  test('leaves its order to the same call after a crash; where no credits are owned, none stays', async () => {
    open().book.open(call())
    const { purchases, book } = open()
    await purchases.finishEarlier()
    expect(book.unfinished()).toHaveLength(1)
    rmSync(join(folder, 'payments'), { recursive: true })
    await open().purchases.finishEarlier()
    expect(book.unfinished()).toEqual([])
  })
})

test('a payment that is stored is not sent to a host that is no longer allowed, and no other is signed', async () => {
  seller.answer = (response) => void response.writeHead(400).end('no')
  await open().purchases.make(call(), undefined)
  const refused = textOf(await open({ hosts: ['other.example'] }).purchases.make(call(), undefined))
  expect(refused).toMatch(/it was not sent.*may still be charged.*--allow-host/)
  expect(seller.paid).toHaveLength(1)
})

test('what is not agreed to is not signed, and what the budget does not allow is not asked', async () => {
  const { purchases, book } = open()
  const told = await purchases.make(call(), 'nothing')
  expect(told).toMatchObject({ kind: 'unconfirmed', offer: { amountMicro: 10_000n, scheme: 'exact' } })
  const { offer } = told as Extract<Made, { kind: 'unconfirmed' }>
  const otherAccount = `0x${'33'.repeat(20)}` as const
  const others: Array<Partial<Terms>> = [
    { amountMicro: 9_999n },
    { network: { ...offer.network, id: 'eip155:8453' } },
    { network: { ...offer.network, asset: otherAccount } },
    { scheme: 'upto' },
    { payTo: otherAccount },
  ]
  for (const other of others)
    expect(await purchases.make(call(), { ...offer, ...other })).toMatchObject({ kind: 'unconfirmed' })
  expect(book.unfinished()).toEqual([])
  expect(textOf(await open({ maxTotal: 9_999n }).purchases.make(call(), 'nothing'))).toContain('budget')
  expect(textOf(await purchases.make(call(), { ...offer, amountMicro: 10_001n }))).toContain('here it is')
  expect(seller.paid).toHaveLength(1)
})
