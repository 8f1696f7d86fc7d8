import { keccak256, stringToBytes } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeUrl } from '../../src/dialects/mpp/words.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { bent, bentRequest, type Changes, mppBuyer, post, unwrap, wrap } from '../e2e/mpp-buyer.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from '../e2e/routes-world.ts'
import { PRICE } from '../e2e/world.ts'
import { headerOf, readCalldata, sendsOf } from './forge.ts'

const PROBLEMS = 'https://paymentauth.org/problems/'
const BODY = { planId: 'basic' }
const OTHER = `0x${'77'.repeat(20)}`
const { token, chainId } = findNetwork('testnet')!

let routes: RoutesWorld
let access: string
beforeAll(async () => {
  routes = await startRoutesWorld()
  access = `${routes.world.baseUrl}/x402/access`
})
afterAll(() => routes.stop())

const newBuyer = () => routes.world.chain.newBuyer({ micro: 5n * PRICE })
const send = (authorization: string, body: object = BODY) => fetch(access, post(body, { authorization }))
const hashOf = (id: string) => keccak256(stringToBytes(id + routes.world.baseUrl))

/** Signs whatever an attacker has made of a challenge, as the client would. */
async function signAgain(buyer: DevAccount, credential: string, changes: Changes): Promise<string> {
  const changed = unwrap(bent(credential, changes))
  const { from, to, value, validAfter, validBefore, nonce } = changed.payload as Record<string, `0x${string}`>
  const signature = await buyer.account.signTypedData({
    domain: { ...token.domain, chainId, verifyingContract: token.address },
    primaryType: 'TransferWithAuthorization',
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    message: {
      from: from!,
      to: to!,
      value: BigInt(value!),
      validAfter: BigInt(validAfter!),
      validBefore: BigInt(validBefore!),
      nonce: nonce!,
    },
  })
  return wrap({ ...changed, payload: { ...changed.payload, signature } })
}

/** A clear refusal: a problem that repeats nothing secret, no challenge to sign again, nothing sent, nothing moved. */
async function refused(buyer: DevAccount, answer: Promise<Response>, sends: number) {
  const response = await answer
  expect(response.status).toBeGreaterThanOrEqual(400)
  expect(response.status).toBeLessThan(500)
  expect(response.status).not.toBe(402)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(response.headers.get('payment-receipt')).toBeNull()
  expect(response.headers.get('www-authenticate')).toBeNull()
  const problem = (await response.json()) as { type: string; code: string; detail: string }
  expect(problem.detail.length).toBeGreaterThan(10)
  expect(JSON.stringify(problem)).not.toMatch(/accessToken|0x[0-9a-f]{64}/i)
  expect(await sendsOf(routes.world)).toBe(sends)
  expect(await routes.world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  return { status: response.status, type: problem.type.replace(PROBLEMS, ''), code: problem.code }
}

describe('attack 48: a Payment credential with one part of its challenge changed', () => {
  type Bend = (credential: string) => Changes
  const later = (credential: string) => Date.parse(unwrap(credential).challenge.expires!) + 60_000
  const request =
    (change: (old: Record<string, unknown>) => object): Bend =>
    (credential) => ({ challenge: { request: bentRequest(credential, change) } })
  const details = (more: object) =>
    request((old) => ({ ...old, methodDetails: { ...(old.methodDetails as object), ...more } }))
  const opaque =
    (more: object): Bend =>
    (credential) => ({
      challenge: {
        opaque: encodeUrl({ ...JSON.parse(atob(unwrap(credential).challenge.opaque!)), ...more }),
      },
    })
  const named = (id: string, realm: string): Changes => ({
    challenge: { id, realm },
    payload: { nonce: keccak256(stringToBytes(id + realm)) },
  })

  test.each<[string, Bend, number, string]>([
    ['another id', (c) => ({ challenge: { id: `${unwrap(c).challenge.id}x` } }), 400, 'INVALID_PROOF'],
    [
      'an id that we never made',
      () => named('http-1.salt', routes.world.baseUrl),
      404,
      'CHALLENGE_NOT_FOUND',
    ],
    [
      'an id whose proof is another',
      (c) =>
        named(
          unwrap(c).challenge.id!.replace(/.(?=\.)/, (last) => (last === 'A' ? 'B' : 'A')),
          routes.world.baseUrl,
        ),
      404,
      'CHALLENGE_NOT_FOUND',
    ],
    [
      'no salt',
      (c) => named(unwrap(c).challenge.id!.split('.')[0]!, routes.world.baseUrl),
      404,
      'CHALLENGE_NOT_FOUND',
    ],
    [
      'another realm',
      (c) => named(unwrap(c).challenge.id!, 'https://elsewhere.example'),
      404,
      'CHALLENGE_NOT_FOUND',
    ],
    [
      'a later expiry',
      (c) => ({ challenge: { expires: new Date(later(c)).toISOString() } }),
      400,
      'INVALID_PROOF',
    ],
    [
      'a later expiry, and signed for it',
      (c) => ({
        challenge: { expires: new Date(later(c)).toISOString() },
        payload: { validBefore: String(later(c) / 1000) },
      }),
      400,
      'INVALID_PROOF',
    ],
    ['a nonce of its own', () => ({ payload: { nonce: `0x${'11'.repeat(32)}` } }), 400, 'INVALID_PROOF'],
    ['another method', () => ({ challenge: { method: 'tempo' } }), 400, 'METHOD_UNSUPPORTED'],
    ['another intent', () => ({ challenge: { intent: 'session' } }), 400, 'METHOD_UNSUPPORTED'],
    ['a lower amount in the challenge', request((old) => ({ ...old, amount: '1' })), 400, 'AMOUNT_MISMATCH'],
    [
      'a lower amount in both',
      (c) => ({
        challenge: { request: bentRequest(c, (old) => ({ ...old, amount: '1' })) },
        payload: { value: '1' },
      }),
      400,
      'AMOUNT_MISMATCH',
    ],
    ['a lower amount that is signed', () => ({ payload: { value: '1' } }), 400, 'AMOUNT_MISMATCH'],
    [
      'another recipient in the challenge',
      request((old) => ({ ...old, recipient: OTHER })),
      400,
      'INVALID_PROOF',
    ],
    ['another recipient that is signed', () => ({ payload: { to: OTHER } }), 400, 'INVALID_PROOF'],
    ['another token', request((old) => ({ ...old, currency: OTHER })), 400, 'INVALID_PROOF'],
    ['another chain', details({ chainId: 8453 }), 400, 'INVALID_PROOF'],
    ['other decimals', details({ decimals: 18 }), 400, 'INVALID_PROOF'],
    ['splits', details({ splits: [{ recipient: OTHER, amount: '1' }] }), 400, 'INVALID_REQUEST'],
    ['another plan in opaque', opaque({ planId: 'pro' }), 400, 'INVALID_REQUEST'],
    ['another requestId in opaque', opaque({ requestId: 'of-somebody-else' }), 404, 'CHALLENGE_NOT_FOUND'],
    ['another resource in opaque', opaque({ resourceId: 'other' }), 404, 'CHALLENGE_NOT_FOUND'],
    ['an opaque that is none', () => ({ challenge: { opaque: '!' } }), 400, 'INVALID_REQUEST'],
    [
      'another payer as its source',
      () => ({ source: `did:pkh:eip155:${chainId}:${OTHER}` }),
      400,
      'INVALID_PROOF',
    ],
    ['a source on another chain', () => ({ source: `did:pkh:eip155:1:${OTHER}` }), 400, 'INVALID_PROOF'],
  ])('%s', async (_name, bend, status, code) => {
    const buyer = await newBuyer()
    const credential = await mppBuyer(buyer.account).credential(access, post(BODY))
    const sends = await sendsOf(routes.world)
    const forged = await signAgain(buyer, credential, bend(credential))
    expect(await refused(buyer, send(forged), sends)).toMatchObject({ status, code })
  })

  test('another plan, resource, route or path than the challenge is for', async () => {
    const buyer = await newBuyer()
    const credential = await mppBuyer(buyer.account).credential(access, post(BODY))
    const sends = await sendsOf(routes.world)
    for (const body of [{ planId: 'pro' }, { ...BODY, resourceId: 'r2' }, { ...BODY, requestId: 'another' }])
      await refused(buyer, send(credential, body), sends)
    const called = fetch(`${routes.world.baseUrl}/weather/paris`, { headers: { authorization: credential } })
    await refused(buyer, called, sends)
    const weather = `${routes.world.baseUrl}/weather/paris`
    const forParis = await mppBuyer(buyer.account).credential(weather)
    for (const path of ['/weather/rome', '/weather/paris?units=c'])
      await refused(
        buyer,
        fetch(routes.world.baseUrl + path, { headers: { authorization: forParis } }),
        sends,
      )
    expect((await fetch(weather, { headers: { authorization: forParis } })).status).toBe(200)
    expect(await routes.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('two payments in one request', async () => {
    const buyer = await newBuyer()
    const credential = await mppBuyer(buyer.account).credential(access, post(BODY))
    const signed = await routes.world.sign(buyer, (await routes.world.terms()).accepts[0]!)
    const sends = await sendsOf(routes.world)
    const both: Array<Record<string, string>> = [
      { authorization: credential, 'payment-signature': signed },
      { authorization: credential, 'payment-authorization': credential },
      { 'payment-authorization': credential, 'payment-signature': signed },
      { authorization: `${credential}, ${credential}` },
    ]
    for (const headers of both) {
      const said = await refused(buyer, fetch(access, post(BODY, headers)), sends)
      expect(said).toMatchObject({ status: 400, type: 'malformed-credential' })
    }
  })
})

describe('attack 49: somebody else’s MPP purchase', () => {
  /** A purchase under a requestId that everybody knows, and what the chain tells of it. */
  async function bought(requestId: string) {
    const buyer = await newBuyer()
    const body = { ...BODY, requestId }
    const credential = await mppBuyer(buyer.account).credential(access, post(body))
    const granted = await send(credential, body)
    const grant = (await granted.json()) as { accessToken: string; txHash: string; challengeId: string }
    expect(granted.status).toBe(200)
    return { buyer, body, credential, grant, calldata: await readCalldata(routes.world, grant.txHash) }
  }

  test('is not had with its calldata and all its ids, in either dialect: the salt is missing', async () => {
    const { buyer, body, credential, grant, calldata } = await bought('attack-46-calldata')
    const sends = await sendsOf(routes.world)
    // Whoever knows the requestId gets a challenge with the same challengeId, and another salt.
    const theirs = unwrap(await mppBuyer(buyer.account).credential(access, post(body)))
    expect(theirs.challenge.id!.split('.')[0]).toBe(grant.challengeId)
    const { authorization, signature } = calldata
    const payload = { type: 'authorization', ...authorization, signature }
    const mine = unwrap(credential).challenge
    for (const challenge of [
      theirs.challenge,
      { ...theirs.challenge, expires: mine.expires },
      { ...theirs.challenge, expires: mine.expires, id: `${grant.challengeId}.` },
      { ...theirs.challenge, expires: mine.expires, id: `${grant.challengeId}.guess` },
    ]) {
      const stolen = await send(wrap({ challenge, payload }), body)
      expect([400, 404]).toContain(stolen.status)
      expect(await stolen.text()).not.toContain(grant.accessToken)
    }
    const required = await routes.world.terms(body)
    for (const accepted of [undefined, required.accepts[0]!]) {
      const payment = headerOf({ x402Version: 2, payload: calldata, ...(accepted && { accepted }) })
      const stolen = await routes.world.pay(payment, body)
      expect(stolen).toMatchObject({ status: 409, body: { code: 'TX_ALREADY_REDEEMED' } })
      expect(JSON.stringify(stolen.body)).not.toContain(grant.accessToken)
    }
    expect(await sendsOf(routes.world)).toBe(sends)
    expect(await routes.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    expect(await (await send(credential, body)).json()).toMatchObject({ accessToken: grant.accessToken })
  })

  test('is not had by another wallet with the same id, before or after it is paid', async () => {
    const [buyer, thief] = [await newBuyer(), await newBuyer()]
    const credential = await mppBuyer(buyer.account).credential(access, post(BODY))
    const from = thief.account.address
    const source = `did:pkh:eip155:${chainId}:${from}`
    const thiefs = await signAgain(thief, credential, { payload: { from }, source })
    expect(unwrap(thiefs).payload.nonce).toBe(hashOf(unwrap(credential).challenge.id!))
    const grant = (await (await send(credential)).json()) as { accessToken: string }
    const sends = await sendsOf(routes.world)
    const said = await refused(thief, send(thiefs), sends)
    expect(said).toMatchObject({ status: 400, code: 'INVALID_PROOF' })
    const signedByThief = await signAgain(thief, credential, {})
    const forged = await send(signedByThief)
    expect(forged.status).toBeGreaterThanOrEqual(400)
    expect(await forged.text()).not.toContain(grant.accessToken)
    expect(await routes.world.flows(thief)).toEqual({ paid: [], refunded: [] })
    expect(await routes.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('of two wallets that race with one id, one pays', async () => {
    const [first, second] = [await newBuyer(), await newBuyer()]
    const credential = await mppBuyer(first.account).credential(access, post(BODY))
    const from = second.account.address
    const source = `did:pkh:eip155:${chainId}:${from}`
    const other = await signAgain(second, credential, { payload: { from }, source })
    const statuses = (await Promise.all([send(credential), send(other)])).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    const flows = [await routes.world.flows(first), await routes.world.flows(second)]
    expect(flows.flatMap(({ paid }) => paid)).toEqual([PRICE])
  })
})
