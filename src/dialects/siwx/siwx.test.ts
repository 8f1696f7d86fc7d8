import { createSIWxMessage, createSIWxPayload, encodeSIWxHeader } from '@x402/extensions'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeEach, expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { MAINNET, offeredOn, SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { createRandomPool } from '../../delivery/random-pool.ts'
import { GatewayError } from '../../errors.ts'
import { encodeJson } from '../../protocol/base64.ts'
import { signInText } from '../../protocol/sign-in-text.ts'
import { createSiwx, type Siwx } from './create-siwx.ts'

const BASE_URL = 'https://api.example.com:8443/pay'
const PATH = '/pay/x402/access'
const NOW = Date.parse('2026-03-01T12:00:00Z')
const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const rails = [MAINNET, TESTNET].map((network) => offeredOn(testRail({ network }), '1000000', SELLER))

let now: number
let siwx: Siwx
beforeEach(() => {
  now = NOW
  const networks = [MAINNET.id, TESTNET.id]
  siwx = createSiwx({ baseUrl: BASE_URL, networks, now: () => now, random: createRandomPool() })
})

function offered() {
  const member = siwx.member(testOffer({ rails }))
  return JSON.parse(`{${member}}`)['sign-in-with-x'] as ReturnType<Siwx['offer']>
}

/** Signed by the official client, which checks the offer against the address that it was got from. */
async function payload(changes: object = {}) {
  const { info, supportedChains } = offered()
  const complete = { ...info, ...supportedChains[0]!, ...changes }
  return createSIWxPayload(complete, account, `${new URL(BASE_URL).origin}${PATH}`)
}

const said = (read: unknown): string => (read instanceof GatewayError ? read.message : 'good')

test('the official client signs what a 402 offers, and what it sends is read', async () => {
  const proof = await payload()
  const read = siwx.read(encodeSIWxHeader(proof), PATH)
  expect(read).toEqual({
    account: account.address.toLowerCase(),
    network: MAINNET.id,
    text: expect.stringMatching(/^api\.example\.com:8443 wants you to sign in/),
    signature: proof.signature,
    nonce: proof.nonce,
    endsAt: NOW + 300_000,
  })
  if (read instanceof GatewayError) throw read
  expect(await account.signMessage({ message: read.text })).toBe(proof.signature)
  expect(siwx.read(proof, PATH)).toEqual(read)
})

test('the text is that of the official package, with and without each field', async () => {
  const base = { ...offered().info, ...offered().supportedChains[0]! }
  const more = {
    statement: 'Enter.',
    expirationTime: '2026-03-01T12:05:00Z',
    notBefore: '2026-03-01T11:00:00Z',
    requestId: 'r-1',
    resources: ['https://a.example/1', 'https://a.example/2'],
  }
  const fields = Object.entries(more)
  const each = [{}, more, ...fields.map(([name, value]) => ({ [name]: value }))]
  for (const extra of each) {
    const text = signInText({ ...base, ...extra, address: account.address })
    expect(text).toBe(createSIWxMessage({ ...base, ...extra }, account.address))
  }
})

test('every offer has a nonce of its own, the time in whole seconds, and the network that official clients sign for', () => {
  const [one, other] = [offered(), offered()]
  expect(one.info.nonce).toMatch(/^[0-9a-f]{32}$/)
  expect(other.info.nonce).not.toBe(one.info.nonce)
  now += 1_999
  expect(offered().info.issuedAt).toBe('2026-03-01T12:00:01Z')
  const chains = [MAINNET, TESTNET].map(({ id }) => ({ chainId: id, type: 'eip191' }))
  expect(one.supportedChains).toEqual(chains.slice(0, 1))
  expect(siwx.offer('/data').supportedChains).toEqual(chains)
  expect(siwx.member(testOffer({ kind: 'route', rails }))).toBeUndefined()
  expect(siwx.offer('/data').info.uri).toBe('https://api.example.com:8443/data')
})

test('a query may follow the address', async () => {
  const proof = await payload({ uri: `https://api.example.com:8443${PATH}?a=1` })
  expect(said(siwx.read(proof, PATH))).toBe('good')
})

test.each<[string, object, RegExp]>([
  ['another domain', { domain: 'evil.example' }, /another domain; this is api\.example\.com:8443/],
  ['another origin', { uri: `https://evil.example${PATH}` }, /its uri must be https:\/\/api\.example/],
  ['another scheme', { uri: `http://api.example.com:8443${PATH}` }, /another address/],
  ['another path', { uri: 'https://api.example.com:8443/pay/data' }, /another address/],
  ['a path that only begins alike', { uri: `https://api.example.com:8443${PATH}/x` }, /another address/],
  ['an unknown chain', { chainId: 'eip155:999' }, /chainId is none of/],
  ['a chain of another kind', { chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }, /chainId is none of/],
  ['the future', { issuedAt: '2026-03-01T12:00:06Z' }, /in the future/],
  ['long ago', { issuedAt: '2026-03-01T11:55:00Z' }, /older than 5 minutes/],
  ['what has expired', { expirationTime: '2026-03-01T12:00:00Z' }, /has expired/],
  ['what begins later', { notBefore: '2026-03-01T12:01:00Z' }, /notBefore/],
  ['a line break', { statement: 'a\nURI: x' }, /statement must be one line/],
  ['an odd line break', { requestId: 'a\u2028b' }, /requestId must be one line/],
  ['a time that is none', { issuedAt: '2026-13-41T00:00:00Z' }, /issuedAt must be an ISO 8601 time/],
  ['no time', { issuedAt: undefined }, /issuedAt is missing/],
  ['a short nonce', { nonce: '1' }, /nonce must be 8 to 128/],
  ['another version', { version: '2' }, /version/],
  ['another kind of signature', { type: 'ed25519' }, /type/],
  ['no account', { address: '0x1' }, /address must be 0x/],
  ['no signature', { signature: 'none' }, /signature must be 0x/],
  ['too many resources', { resources: Array(17).fill('x') }, /resources/],
])('a proof with %s is refused with a sentence', async (_what, change, sentence) => {
  const read = siwx.read({ ...(await payload()), ...change }, PATH)
  expect(read).toMatchObject({ code: 'UNAUTHORIZED' })
  expect(said(read)).toMatch(sentence)
})

test.each<[string, string, RegExp]>([
  ['no base64', '?', /not the base64/],
  ['JSON itself', '{"a":1,"b":2}', /is JSON; send the base64 encoding of it/],
  ['no JSON', Buffer.from('hello').toString('base64'), /not the base64/],
  ['a list', encodeJson([]), /not the base64/],
  ['nothing', '', /not the base64/],
  ['two of them', `${encodeJson({})}, ${encodeJson({})}`, /more than once/],
  ['too much', encodeJson({ statement: 'x'.repeat(9000) }), /at most 8192 are read/],
  ['an empty object', encodeJson({}), /domain is missing/],
])('a header of %s is refused with a sentence', (_what, header, sentence) => {
  expect(said(siwx.read(header, PATH))).toMatch(sentence)
})
