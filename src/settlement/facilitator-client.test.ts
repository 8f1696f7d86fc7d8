import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { SELLER, signTransfer } from '../../test/settlement/sign-transfer.ts'
import { UnavailableError } from '../errors.ts'
import type { Sendable } from '../ports.ts'
import { findNetwork } from '../protocol/networks.ts'
import { type DevChain, startDevChain } from '../testing/dev-chain.ts'
import { startFacilitator, type TestFacilitator } from '../testing/facilitator.ts'
import type { Fault } from '../testing/facilitator-faults.ts'
import type { Authorization } from '../testing/sign.ts'
import { createFacilitator } from './facilitator-client.ts'
import { createFacilitatorSettlement } from './facilitator-settlement.ts'

const network = findNetwork('testnet')!
let dev: DevChain
let real: TestFacilitator
let stub: Server
let stubAnswer: { status: number; body: string } = { status: 200, body: '' }
let stubHeaders: Record<string, unknown> = {}

beforeAll(async () => {
  dev = await startDevChain()
  real = await startFacilitator({ chain: dev })
  stub = createServer((request, response) => {
    stubHeaders = request.headers
    request.resume()
    response.writeHead(stubAnswer.status).end(stubAnswer.body)
  })
  await new Promise<void>((resolve) => stub.listen(0, '127.0.0.1', resolve))
})
afterEach(() => real.faults.clear())
afterAll(async () => {
  stub.closeAllConnections()
  stub.close()
  await real.stop()
  await dev.stop()
})

const authorize = async (micro = 1000n, overrides: Partial<Authorization> = {}) =>
  signTransfer(await dev.newBuyer({ micro }), overrides)

const client = () => createFacilitator({ url: `${real.url}/`, network, timeoutMs: 400 })
const stubUrl = () => `http://127.0.0.1:${(stub.address() as AddressInfo).port}`

test('the real facilitator settles what we send, and names the transaction', async () => {
  const patient = createFacilitator({ url: real.url, network })
  const before = await dev.balanceOf(SELLER)
  const answer = await patient.settle(await authorize())
  expect(answer).toMatchObject({ kind: 'hint', txHash: real.broadcasts.at(-1)!.hash })
  expect(await dev.balanceOf(SELLER)).toBe(before + 1000n)
  expect(await patient.supported()).toMatchObject([
    { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
  ])
})

test('refusals of the real facilitator count as refusals; a used nonce does not', async () => {
  const patient = createFacilitator({ url: real.url, network })
  const past = `${Math.floor(Date.now() / 1000) - 100}`
  expect(await patient.settle(await authorize(1000n, { validBefore: past }))).toEqual({
    kind: 'refused',
    reason: 'authorization_expired',
  })
  expect(await patient.settle(await authorize(999n))).toEqual({
    kind: 'refused',
    reason: 'insufficient_funds',
  })
  const tampered = { ...(await authorize()), value: '999' }
  expect(await patient.settle(tampered)).toEqual({ kind: 'refused', reason: 'invalid_signature' })
  const spent = await authorize(2000n)
  expect(await patient.settle(spent)).toMatchObject({ kind: 'hint' })
  expect(await patient.settle(spent)).toMatchObject({ kind: 'unknown' })
})

test.each<Fault>([
  'disconnect',
  'error-500',
  'hang',
  'garbage',
  'html',
  'huge',
  'broadcast-then-500',
  'broadcast-then-hang',
  'broadcast-then-disconnect',
])('%s proves nothing', async (fault) => {
  real.faults.next('settle', fault)
  expect(await client().settle(await authorize())).toMatchObject({ kind: 'unknown' })
})

test.each<Fault>(['refuse', 'broadcast-then-refuse'])(
  '%s is taken at its word, unless that hides a payment',
  async (fault) => {
    real.faults.next('settle', fault)
    expect(await client().settle(await authorize())).toEqual({ kind: 'refused', reason: 'refused_by_test' })
    real.faults.next('settle', fault, { reason: 'settlement_pending' })
    expect(await client().settle(await authorize())).toEqual({
      kind: 'unknown',
      reason: 'settlement_pending',
    })
  },
)

test.each<Fault>(['lie-success', 'other-hash'])('%s is no more than a hint', async (fault) => {
  real.faults.next('settle', fault)
  expect(await client().settle(await authorize())).toMatchObject({ kind: 'hint', txHash: expect.any(String) })
})

test.each<[string, string | undefined]>([
  ['insufficient_funds', 'insufficient_funds'],
  ['invalid_exact_evm_insufficient_balance', 'insufficient_funds'],
  ['invalid_exact_evm_payload_authorization_valid_before', 'authorization_expired'],
  ['invalid_exact_evm_payload_authorization_valid_after', 'authorization_not_yet_valid'],
  ['invalid_exact_evm_signature', 'invalid_signature'],
  ['invalid_exact_evm_payload_signature_address', 'invalid_signature'],
  ['invalid_exact_evm_payload_authorization_from_address_kyt', 'blocked_address'],
  ['invalid_payment_requirements', 'invalid_payment_requirements'],
  ['invalid_exact_evm_token_name_mismatch', 'invalid_exact_evm_token_name_mismatch'],
  ['invalid_exact_evm_transaction_simulation_failed', 'simulation_failed'],
  ['asset_not_deployed_contract', 'asset_not_deployed_contract'],
  ['eip6492_factory_not_allowed', 'eip6492_factory_not_allowed'],
  ['smart_wallet_deployment_failed', 'smart_wallet_deployment_failed'],
  ['settlement_failed', 'settlement_failed'],
  ['expired', 'expired'],
  ['this payTo is not\nserved', 'this payTo is not served'],
  ['Execution reverted: insufficient_funds', 'Execution reverted: insufficient_funds'],
  ['invalid_exact_evm_nonce_already_used', undefined],
  ['invalid_exact_evm_transaction_failed', undefined],
  ['invalid_exact_evm_transfer_event_mismatch', undefined],
  ['invalid_transaction_state', undefined],
  ['settlement_pending', undefined],
  ['unexpected_settle_error', undefined],
  ['settle_exact_node_failure', undefined],
  ['transaction_confirmation_timed_out', undefined],
  ['Timed out while waiting for transaction 0xab', undefined],
  ['internal_error', undefined],
  ['failed_to_execute_transfer', undefined],
  ...[
    'tx_failed',
    'mempool full',
    'mined but failed',
    'still processing',
    'in progress',
    'queued',
    'duplicate',
  ].map((words): [string, undefined] => [words, undefined]),
  ...['ECONNRESET', 'socket hang up', 'fetch failed', 'request aborted'].map((words): [string, undefined] => [
    words,
    undefined,
  ]),
  ['invalid_exact_evm_failed_to_execute_transfer', undefined],
  ['invalid_exact_evm_failed_to_get_receipt', undefined],
  ['context deadline exceeded', undefined],
  ['sender_blocked', 'sender_blocked'],
  ['HTTP request failed.', undefined],
  ['', undefined],
])('%s is read as %s', async (errorReason, reason) => {
  const auth = await authorize(0n)
  const settle = (body: object, status = 200) => {
    stubAnswer = { status, body: JSON.stringify({ success: false, errorReason, transaction: '', ...body }) }
    return createFacilitator({ url: stubUrl(), network }).settle(auth)
  }
  const expected = reason ? { kind: 'refused', reason } : { kind: 'unknown' }
  expect(await settle({})).toMatchObject(expected)
  expect(await settle({ payer: auth.from }, 400)).toMatchObject(expected)
  // With a transaction, a server that failed or was too busy, or another payer in the answer, its reason proves nothing.
  expect(await settle({ transaction: `0x${'ab'.repeat(32)}` })).toMatchObject({ kind: 'unknown' })
  for (const status of [408, 425, 429, 500])
    expect(await settle({}, status)).toMatchObject({ kind: 'unknown' })
  expect(await settle({ payer: SELLER })).toMatchObject({ kind: 'unknown' })
})

test.each<[number, string, true | undefined]>([
  [400, '{"success":false}', true],
  [200, '{"success":false,"errorReason":""}', true],
  [400, '{"error":"this payTo is not served"}', true],
  [403, 'Forbidden', true],
  [429, 'slow down', undefined],
  [429, '{"success":false,"errorReason":"rate_limit_exceeded"}', undefined],
  [200, '{"success":false,"errorReason":"internal_error"}', true],
  [200, '{"success":false,"errorReason":"unknown_pay_to"}', true],
  [200, '{"success":false,"errorReason":"failed_to_execute_transfer"}', true],
  [200, '{"success":false,"errorReason":"transaction_failed"}', undefined],
  [200, '{"success":false,"errorReason":"payTo is not served, see https://docs.example.com"}', true],
  [502, '{"success":false,"errorReason":"this payTo is not served"}', undefined],
  [200, '{"success":false,"errorReason":"invalid_exact_evm_nonce_already_used"}', undefined],
  [200, '{"success":false,"errorReason":"settlement_pending"}', undefined],
])(
  'HTTP %i %s: a refusal without a reason is no answer about the payment, and marked as declined (%s)',
  async (status, body, declined) => {
    stubAnswer = { status, body }
    const answer = await createFacilitator({ url: stubUrl(), network }).settle(await authorize(0n))
    expect(answer).toEqual({ kind: 'unknown', reason: expect.any(String), ...(declined && { declined }) })
  },
)

test('auth headers go to their endpoint; without them nothing is sent', async () => {
  const auth = await authorize(0n)
  stubAnswer = { status: 200, body: '{"success":true,"transaction":"not a hash"}' }
  const createAuthHeaders = async () => ({ settle: { Authorization: 'Bearer s' }, supported: {} })
  const signedIn = createFacilitator({ url: stubUrl(), network, createAuthHeaders })
  expect(await signedIn.settle(auth)).toEqual({ kind: 'hint' })
  expect(stubHeaders.authorization).toBe('Bearer s')
  stubHeaders = {}
  const broken = createFacilitator({
    url: stubUrl(),
    network,
    createAuthHeaders: () => Promise.reject(new Error('no key')),
  })
  expect(await broken.settle(auth)).toEqual({ kind: 'unknown', reason: 'no key' })
  expect(stubHeaders).toEqual({})
  await expect(signedIn.supported()).rejects.toThrow(UnavailableError)
})

test('as settlement, each authorization is a batch of its own with nothing to store', async () => {
  const answers = [
    { kind: 'hint' },
    { kind: 'refused', reason: 'paused' },
    { kind: 'unknown', reason: 'x' },
    { kind: 'unknown', reason: 'not to this payTo', declined: true },
  ] as const
  let next = 0
  const settlement = createFacilitatorSettlement({ settle: async () => answers[next++]! })
  const auth = await authorize(0n)
  const keys = ['a', 'b', 'c', 'd']
  const items = keys.map(
    (key): Sendable => ({
      member: { kind: 'payment', key },
      signed: auth,
      alone: false,
      batchLimit: null,
    }),
  )
  const batches = await settlement.makeBatches(items)
  expect(batches.map(({ keys, puts, walletTx }) => ({ keys, puts, walletTx }))).toEqual(
    keys.map((key) => ({ keys: [key], puts: [], walletTx: null })),
  )
  const sent = []
  for (const batch of batches) sent.push(await batch.send())
  expect(sent).toEqual([
    { kind: 'sent' },
    { kind: 'refused', reason: 'paused' },
    { kind: 'unknown' },
    { kind: 'unknown', declined: 'not to this payTo' },
  ])
  expect(await settlement.unavailable()).toBeUndefined()
  await settlement.maintain([])
})
