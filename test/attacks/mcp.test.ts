import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRaw, payloadFor, post, said, type ToolResult, toolCall } from '../e2e/mcp-clients.ts'
import { CREDENTIAL, callTool, credentialFor } from '../e2e/mpp-mcp-client.ts'
import { eventually, PRICE, type Strategy, startWorld, type World } from '../e2e/world.ts'
import { headerOf, readCalldata, sendsOf, signedPayload } from './forge.ts'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])('thieves at MCP, by %s', (strategy) => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ strategy, options: { mcp: true } })
  })
  afterAll(() => world.stop())

  const call = async (args: Record<string, unknown>, payment?: unknown): Promise<ToolResult> => {
    const session = await openRaw(world.baseUrl)
    return session.call(
      'request_access',
      args,
      payment === undefined ? undefined : { 'x402/payment': payment },
    )
  }

  test.sequential('attack 13: a payload rebuilt from public calldata gets no grant, whatever else the thief knows', async () => {
    const victim = await world.chain.newBuyer({ micro: 5n * PRICE })
    const unpaid = await call({ planId: 'basic' })
    const accepted = unpaid.structuredContent!.accepts![0]!
    const payment = await signedPayload(victim, accepted)
    const grant = said(await call({ planId: 'basic' }, payment))
    expect(grant).toMatchObject({ status: 'access_granted' })
    const books = await world.ledger(victim)
    const sends = await sendsOf(world)

    const rebuilt = await readCalldata(world, String(grant.txHash))
    expect(rebuilt.signature.toLowerCase()).toBe(payment.payload.signature.toLowerCase())
    const requestId = `mcp-${createHash('sha256').update(rebuilt.signature).digest('hex').slice(0, 32)}`
    expect(requestId, 'everybody can compute it').toBe(grant.requestId)
    const { salt, ...known } = accepted.extra
    const thiefs = (await call({ planId: 'basic' })).structuredContent!.accepts![0]!
    const asked = (await call({ planId: 'basic', requestId })).structuredContent!.accepts![0]!
    const echoes = [
      undefined,
      thiefs,
      asked,
      { ...accepted, extra: known },
      { ...accepted, extra: { ...known, salt: thiefs.extra.salt } },
      { ...accepted, extra: { ...known, requestId, salt: asked.extra.salt } },
      { extra: { challengeId: grant.challengeId } },
      { extra: { challengeId: grant.challengeId, requestId } },
    ]
    for (const echo of echoes) {
      const stolen = { x402Version: 2, payload: rebuilt, ...(echo && { accepted: echo }) }
      for (const args of [{ planId: 'basic' }, { planId: 'basic', requestId }]) {
        for (const sent of [stolen, headerOf(stolen)]) {
          const result = await call(args, sent)
          expect(result.isError).toBe(true)
          expect(said(result)).toMatchObject({ type: 'Error', code: 'TX_ALREADY_REDEEMED' })
          expect(JSON.stringify(result)).not.toContain(grant.accessToken)
        }
      }
    }
    expect(JSON.stringify(await call({ planId: 'basic', requestId }))).not.toContain(grant.accessToken)
    expect(await sendsOf(world)).toBe(sends)
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    expect(salt).not.toBe('')
    expect(said(await call({ planId: 'basic' }, payment)), 'the buyer itself').toEqual(grant)
  })

  test.sequential('attack 13: nor does an MPP credential rebuilt from it, in either dialect', async () => {
    const victim = await world.chain.newBuyer({ micro: 5n * PRICE })
    const pay = (credential: unknown) =>
      callTool(world.baseUrl, 'request_access', { planId: 'basic' }, { [CREDENTIAL]: credential })
    const unpaid = await call({ planId: 'basic' })
    const credential = await credentialFor(victim, unpaid)
    const grant = said(await pay(credential))
    expect(grant).toMatchObject({ status: 'access_granted' })
    const books = await world.ledger(victim)
    const sends = await sendsOf(world)
    const { authorization, signature } = await readCalldata(world, String(grant.txHash))
    const thief = await world.chain.newBuyer({ micro: 5n * PRICE })
    const thiefs = await credentialFor(thief, await call({ planId: 'basic' }))
    const payload = { type: 'authorization', ...authorization, signature }
    const { source } = credential
    const known = String(grant.challengeId)
    for (const id of [
      thiefs.challenge.id,
      known,
      `${known}.`,
      `${known}.${thiefs.challenge.id.split('.')[1]}`,
    ]) {
      const challenge = { ...credential.challenge, id }
      const result = await pay({ challenge, payload, source })
      expect(result.isError, id).toBe(true)
      expect(result).not.toHaveProperty('_meta')
      expect(JSON.stringify(result)).not.toContain(grant.accessToken)
    }
    const accepted = unpaid.structuredContent!.accepts![0]!
    const { salt: _salt, ...extra } = accepted.extra
    const asX402 = { x402Version: 2, payload: { authorization, signature }, accepted: { ...accepted, extra } }
    expect(said(await call({ planId: 'basic' }, asX402))).toMatchObject({ code: 'TX_ALREADY_REDEEMED' })
    // Even with the id itself, another wallet gets nothing and is not charged.
    const own = await credentialFor(thief, unpaid)
    expect(JSON.stringify(await pay(own))).not.toContain(grant.accessToken)
    expect(await world.flows(thief)).toEqual({ paid: [], refunded: [] })
    expect(await sendsOf(world)).toBe(sends)
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    expect(said(await pay(credential)), 'the buyer itself').toEqual(grant)
  })

  test.sequential('attack 4: a credential whose challenge or authorization was changed is refused, and nothing is sent', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const { challenge, payload, source } = await credentialFor(buyer, await call({ planId: 'basic' }))
    const request = challenge.request as Record<string, unknown>
    const later = new Date(Date.parse(challenge.expires) + 3_600_000).toISOString()
    const sends = await sendsOf(world)
    const forged: Array<[credential: object, code: string]> = [
      [{ challenge: { ...challenge, id: `${challenge.id}x` }, payload, source }, 'INVALID_PROOF'],
      [{ challenge: { ...challenge, realm: 'https://another' }, payload, source }, 'CHALLENGE_NOT_FOUND'],
      [{ challenge: { ...challenge, method: 'tempo' }, payload, source }, 'METHOD_UNSUPPORTED'],
      [{ challenge: { ...challenge, expires: later }, payload, source }, 'INVALID_PROOF'],
      [{ challenge: { ...challenge, request: { ...request, amount: '1' } }, payload, source }, ''],
      [
        { challenge: { ...challenge, request: { ...request, recipient: buyer.address } }, payload, source },
        '',
      ],
      [{ challenge, payload: { ...payload, nonce: `0x${'ab'.repeat(32)}` }, source }, 'INVALID_PROOF'],
      [{ challenge, payload: { ...payload, value: '1' }, source }, ''],
      [{ challenge, payload, source: `did:pkh:eip155:1:${buyer.address}` }, ''],
    ]
    for (const [credential, code] of forged) {
      const result = await callTool(
        world.baseUrl,
        'request_access',
        { planId: 'basic' },
        { [CREDENTIAL]: credential },
      )
      expect(result.isError, JSON.stringify(credential)).toBe(true)
      if (code !== '') expect(said(result)).toMatchObject({ code })
    }
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test.sequential('attack 1: the same payload 50 times at once, in both forms, is charged once and answered alike', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const payment = await payloadFor(buyer, (await call({ planId: 'basic' })).structuredContent)
    const sends = await sendsOf(world)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        call({ planId: 'basic' }, index % 2 === 0 ? payment : headerOf(payment)),
      ),
    )
    expect(said(answers[0]!)).toMatchObject({ status: 'access_granted' })
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(await sendsOf(world)).toBe(sends + 1)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test.sequential('a buyer that disconnects during settlement has still bought, once', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const payment = await payloadFor(buyer, (await call({ planId: 'basic' })).structuredContent)
    const body = JSON.stringify(toolCall('request_access', { planId: 'basic' }, { 'x402/payment': payment }))
    await world.chain.setAutomine(false)
    const sends = await sendsOf(world)
    const leave = new AbortController()
    const lost = fetch(`${world.baseUrl}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: leave.signal,
    }).catch(() => 'left')
    await eventually(async () => (await sendsOf(world)) > sends)
    leave.abort()
    expect(await lost).toBe('left')
    await world.chain.setAutomine(true)
    await world.chain.mine()
    expect(said(await call({ planId: 'basic' }, payment))).toMatchObject({ status: 'access_granted' })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

describe('strangers at MCP', () => {
  /** fetch would not let a test choose Host. */
  function postAs(world: World, headers: Record<string, string>): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const sent = request(
        `${world.baseUrl}/mcp`,
        { method: 'POST', headers: { ...json, ...headers } },
        (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (chunk) => {
            text += chunk
          })
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        },
      )
      sent.on('error', reject).end(JSON.stringify(LIST))
    })
  }

  test('DNS rebinding: another Host or Origin is refused with the reason; this machine has several names', async () => {
    const world = await startWorld({ options: { mcp: true } })
    try {
      const { port } = new URL(world.baseUrl)
      const foreign: Array<Record<string, string>> = [
        { host: 'evil.example' },
        { host: `evil.example:${port}` },
        { host: '127.0.0.1.evil.example' },
        { host: 'evil.example', 'x-forwarded-host': '127.0.0.1' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: `http://127.0.0.1.evil.example:${port}` },
      ]
      for (const headers of foreign) {
        const { status, text } = await postAs(world, headers)
        expect(status, JSON.stringify(headers)).toBe(403)
        const { error } = JSON.parse(text)
        expect(error).toMatchObject({
          message: expect.stringMatching(/^(Host|Origin) is .*this MCP server is 127/),
        })
        expect(error.data.hint).toBeTruthy()
      }
      const own: Array<Record<string, string>> = [
        {},
        { host: 'localhost' },
        { host: `[::1]:${port}` },
        { origin: world.baseUrl },
        { origin: 'http://localhost:6274' },
      ]
      for (const headers of own) {
        expect((await postAs(world, headers)).status, JSON.stringify(headers)).toBe(200)
      }
      await world.restart({ trustProxy: true })
      expect((await postAs(world, { host: 'inner', 'x-forwarded-host': 'localhost' })).status).toBe(200)
      expect((await postAs(world, { host: 'localhost', 'x-forwarded-host': 'evil.example' })).status).toBe(
        403,
      )
    } finally {
      await world.stop()
    }
  })

  test('unpaid calls count against the limit, and what is no payment is no way around it', async () => {
    const world = await startWorld({ options: { mcp: true, rateLimitPerMinute: 6 } })
    try {
      const buyer = await world.chain.newBuyer({ micro: PRICE })
      const unpaid = toolCall('request_access', { planId: 'basic' })
      const first = (await (await post(world.baseUrl, unpaid)).json()) as { result: ToolResult }
      const payment = await payloadFor(buyer, first.result.structuredContent)
      const fake = toolCall('request_access', { planId: 'basic' }, { 'x402/payment': 'fake' })
      const bodies = [unpaid, LIST, fake, '{', unpaid, fake, LIST, fake, '{']
      const answers: Response[] = []
      for (const body of bodies)
        answers.push(await post(world.baseUrl, body, { 'payment-signature': 'fake' }))
      expect(answers.slice(-3).map(({ status }) => status)).toEqual([429, 429, 429])
      const limited = answers.at(-3)!
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await limited.json()).toMatchObject({ id: 1, error: { data: { code: 'RATE_LIMITED' } } })
      const paying = toolCall('request_access', { planId: 'basic' }, { 'x402/payment': payment })
      const { result } = (await (await post(world.baseUrl, paying)).json()) as { result: ToolResult }
      expect(said(result), 'a payment is always taken').toMatchObject({ status: 'access_granted' })
    } finally {
      await world.stop()
    }
  })
})
