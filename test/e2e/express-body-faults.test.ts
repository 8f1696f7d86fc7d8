import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import express5, { type ErrorRequestHandler } from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { paystile } from '../../src/frameworks/express.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'

const express4: typeof express5 = createRequire(import.meta.url)('express4')
const BASE = 'http://127.0.0.1/pay'

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('%s with express.json() in front of the gateway', (_name, express) => {
  let gateway: Gateway
  let server: Server
  let origin: string
  beforeAll(async () => {
    gateway = await createGateway({
      walletAddress: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      tokenSecret: 'a shared secret of more than thirty-two bytes',
      baseUrl: BASE,
      rpcUrl: 'http://127.0.0.1:9',
      store: 'memory',
      mcp: true,
      onAlert: () => {},
    })
    const app = express()
    app.use(express.json({ limit: '2kb' }))
    app.use('/pay', paystile(gateway))
    app.post('/own', (req, res) => {
      res.json({ own: req.body })
    })
    const sellers: ErrorRequestHandler = (error, _req, res, _next) => {
      res.status(error.status).send(`the seller's own words: ${error.type}`)
    }
    app.use(sellers)
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.close().closeAllConnections()
    await gateway.close()
  })

  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    const text = await response.text()
    return { status: response.status, type: response.headers.get('content-type'), text }
  }
  const large = JSON.stringify({ planId: 'basic', clientAgentId: 'x'.repeat(3000) })

  test('a good body is answered as ever', async () => {
    expect(await post('/pay/x402/access', '{"planId":"basic"}')).toMatchObject({ status: 402 })
  })

  test.each(['{"planId": basic}', '"basic"'])('what is no JSON object is our own 400: %s', async (body) => {
    const { status, type, text } = await post('/pay/x402/access', body)
    expect([status, type]).toEqual([400, 'application/json'])
    expect(JSON.parse(text)).toMatchObject({ type: 'Error', code: 'INVALID_REQUEST', httpStatus: 400 })
    expect(text).toContain('the body is')
  })

  test('A2A and MCP answer what is no JSON in their own protocol', async () => {
    for (const path of ['/pay/a2a', '/pay/mcp']) {
      const { text } = await post(path, '{"jsonrpc": 2.0')
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 } })
    }
  })

  test('one that is too large for the parser is our own 413', async () => {
    const { status, text } = await post('/pay/x402/access', large)
    expect(status).toBe(413)
    expect(JSON.parse(text)).toMatchObject({ type: 'Error', code: 'BODY_TOO_LARGE', httpStatus: 413 })
    expect(text).toContain('2048 bytes')
  })

  test('one in an unknown encoding is our own error', async () => {
    const { status, text } = await post('/pay/x402/access', '{}', { 'content-encoding': 'sieve' })
    expect(status).toBe(415)
    expect(JSON.parse(text)).toMatchObject({ code: 'INVALID_REQUEST', httpStatus: 415 })
  })

  test('on paths of the seller, also below the gateway’s mount point, the seller’s handler answers', async () => {
    for (const path of ['/own', '/nowhere', '/pay/nowhere']) {
      const bad = await post(path, '{"planId"')
      expect(bad).toMatchObject({ status: 400, text: "the seller's own words: entity.parse.failed" })
      const huge = await post(path, large)
      expect(huge).toMatchObject({ status: 413, text: "the seller's own words: entity.too.large" })
    }
    expect(await post('/own', '{"a":1}')).toMatchObject({ status: 200, text: '{"own":{"a":1}}' })
  })
})
