import type { LookupAddress } from 'node:dns'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createWebhooks, publicLookup, type WebhookSettings } from './create-webhooks.ts'
import { isPrivateAddress } from './private-address.ts'
import { secretFault, secretOf } from './sign-webhook.ts'

const OLD = secretOf(new Uint8Array(32).fill(1))
const NEW = secretOf(new Uint8Array(32).fill(2))
const MESSAGE = { id: 'evt_1', body: '{"type":"webhook.test"}' }

let server: Server
let port: number
let received: Array<{ headers: Record<string, string>; body: string; path: string | undefined }> = []
let status = 200

beforeAll(async () => {
  server = createServer(async (request: IncomingMessage, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ headers: request.headers as Record<string, string>, body, path: request.url })
    response.writeHead(status, { location: '/elsewhere' }).end('noted\u0000\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => void server.close())
beforeEach(() => {
  received = []
  status = 200
})

async function send(url: string, more: Partial<WebhookSettings> = {}, secrets = [NEW]) {
  const endpoints = [{ url, secrets, events: null }]
  const webhooks = createWebhooks({ endpoints, allowHosts: [], userAgent: 'paystile/test', ...more })
  try {
    return await webhooks.send(webhooks.endpoints[0]!.id, { ...MESSAGE, at: Date.now() })
  } finally {
    await webhooks.close()
  }
}

/** DNS that answers with these addresses, one list per question. */
function dns(...answers: string[][]): { resolve: WebhookSettings['resolve']; asked: string[] } {
  const asked: string[] = []
  const resolve = ((
    name: string,
    _options: unknown,
    done: (error: null, found: LookupAddress[]) => void,
  ): void => {
    asked.push(name)
    const found = answers.length > 1 ? answers.shift()! : answers[0]!
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as WebhookSettings['resolve']
  return { resolve, asked }
}

describe('what is sent', () => {
  test('the official library verifies it, with either secret while one is replaced', async () => {
    const allowHosts = [`127.0.0.1:${port}`]
    expect(await send(`http://127.0.0.1:${port}/hooks?a=1`, { allowHosts }, [OLD, NEW])).toEqual({
      status: 200,
      text: 'noted',
    })
    const [{ headers, body, path }] = received as [(typeof received)[number]]
    expect(path).toBe('/hooks?a=1')
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(2)
    for (const secret of [OLD, NEW]) {
      expect(new Webhook(secret).verify(body, headers)).toEqual({ type: 'webhook.test' })
    }
    const stranger = new Webhook(secretOf(new Uint8Array(32).fill(3)))
    expect(() => stranger.verify(body, headers)).toThrow()
    expect(() => new Webhook(NEW).verify(`${body} `, headers)).toThrow()
  })

  test('no redirect is followed', async () => {
    status = 302
    const answer = await send(`http://localhost:${port}/`, { allowHosts: ['localhost'] })
    expect(answer).toEqual({ status: 302, text: 'a redirect, which is not followed' })
    expect(received).toHaveLength(1)
  })

  test('an endpoint that is not there is an answer with a reason', async () => {
    const answer = await send('http://127.0.0.1:1/', { allowHosts: ['127.0.0.1'] })
    expect(answer).toEqual({ status: null, text: 'no connection (ECONNREFUSED)' })
  })
})

describe('a private address is not called', () => {
  const refused = { status: null, text: expect.stringMatching(/^not called: its address is private/) }

  test.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433', '0.0.0.0'])(
    'as http://%s',
    async (host) => {
      expect(await send(`http://${host}:${port}/`)).toEqual(refused)
      expect(received).toEqual([])
    },
  )

  test('by a name that resolves to it, alone or beside a public address', async () => {
    for (const addresses of [['127.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['::1']]) {
      const { resolve, asked } = dns(addresses)
      expect(await send(`http://hooks.example:${port}/`, { resolve })).toEqual(refused)
      expect(asked).toEqual(['hooks.example'])
    }
    expect(received).toEqual([])
  })

  test('by a name that means something else a moment later: what was checked is connected to', () => {
    const { resolve, asked } = dns(['93.184.215.14'], ['127.0.0.1'])
    const found: unknown[] = []
    publicLookup(resolve!)('hooks.example', { all: true }, (error, addresses) => found.push(error, addresses))
    expect(found).toEqual([null, [{ address: '93.184.215.14', family: 4 }]])
    expect(asked).toEqual(['hooks.example'])
  })

  test('unless its host is allowed, on that port', async () => {
    expect(await send(`http://127.0.0.1:${port}/`, { allowHosts: ['127.0.0.1:1'] })).toEqual(refused)
    expect(await send(`http://127.0.0.1:${port}/`, { allowHosts: ['127.0.0.1'] })).toMatchObject({
      status: 200,
    })
  })

  test.each([
    ['10.1.2.3', true],
    ['172.31.255.255', true],
    ['172.32.0.1', false],
    ['192.168.0.1', true],
    ['169.254.169.254', true],
    ['100.64.0.1', true],
    ['8.8.8.8', false],
    ['fe80::1', true],
    ['fd00:ec2::254', true],
    ['64:ff9b::7f00:1', true],
    ['2002:7f00:1::', true],
    ['::ffff:8.8.8.8', false],
    ['2606:4700::1111', false],
    ['not an address', true],
  ])('%s is private: %s', (address, expected) => {
    expect(isPrivateAddress(address)).toBe(expected)
  })
})

test.each([
  ['hunter2', /does not begin with whsec_/],
  ['whsec_???', /is not base64/],
  ['whsec_c2hvcnQ=', /has 5 bytes/],
])('%s is no secret', (text, fault) => {
  expect(secretFault(text)).toMatch(fault)
  expect(secretFault(NEW)).toBeUndefined()
})
