import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { erc20Abi } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BuyerOptions, type BuyerStep, createBuyer, memoryStorage } from '../../src/buyer/index.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { PERMIT2_ADDRESS } from '../../src/protocol/permit2.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { SERVER_PROGRAM } from '../server-program.ts'
import { cli } from './cli-terminal.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'

const MAX = 20_000n
const ETHER = 10n ** 18n
const ROUTES: Route[] = [
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
  { routeId: 'raw', method: 'POST', path: '/raw', scheme: 'upto', maxAmount: '$0.02', raw: true },
]

let shop: RoutesWorld
let payer: DevAccount
let steps: BuyerStep[]
/** The payments that were sent, in order. */
let sent: string[]
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes: ROUTES } })
})
afterAll(() => shop.stop())
beforeEach(async () => {
  shop.backend.seen.length = 0
  steps = []
  sent = []
  payer = await shop.world.chain.newBuyer({ micro: 5n * MAX })
})

/** What the backend answers, and what it says that the call cost. */
function answerWith(amount: string | undefined, status = 200): void {
  const overrides = amount === undefined ? {} : { 'settlement-overrides': JSON.stringify({ amount }) }
  shop.backend.answer = (_call, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...overrides })
      .end('{"text":"hello"}')
}

const watching: typeof fetch = (input, init) => {
  const header = new Request(input, init).headers.get('payment-signature')
  if (header !== null) sent.push(header)
  return fetch(input, init)
}

function buyerOf(options: Partial<BuyerOptions> = {}) {
  const { chain } = shop.world
  return createBuyer({
    account: payer.account,
    maxAmount: '$0.02',
    rpcUrls: { [chain.network]: chain.rpcUrl },
    fetch: watching,
    onStep: (step) => void steps.push(step),
    ...options,
  })
}

const url = (path = '/chat') => shop.world.baseUrl + path
const post = (headers: Record<string, string> = {}): RequestInit => ({ method: 'POST', headers })
const spent = async () => 5n * MAX - (await shop.world.chain.balanceOf(payer.address))
const transactions = () => shop.world.chain.client.getTransactionCount({ address: payer.address })
const allowance = () =>
  shop.world.chain.client.readContract({
    ...{ address: shop.world.chain.usdc, abi: erc20Abi, functionName: 'allowance' },
    args: [payer.address, PERMIT2_ADDRESS],
  })
const distinct = () => new Set(sent).size

describe('a payer that has approved Permit2', () => {
  beforeEach(() => approvePermit2(shop.world.chain, payer))

  test.each([
    ['what the backend says', '1858', 1858n, '$0.001858'],
    ['nothing, without a transaction', '0', 0n, '$0.00'],
    ['the maximum where the backend asks for more', '20001', MAX, '$0.02'],
    ['the maximum where the backend says nothing', undefined, MAX, '$0.02'],
  ])('pays %s, and is told', async (_name, stated, units, dollars) => {
    answerWith(stated)
    const buyer = buyerOf()
    const answer = await buyer.fetch(url(), post())
    expect(await answer.json()).toMatchObject({ resource: { status: 200, body: { text: 'hello' } } })
    const txHash = units === 0n ? '' : expect.stringMatching(/^0x[0-9a-f]{64}$/)
    const { network } = shop.world.chain
    expect(buyer.chargeOf(answer)).toEqual({ network, maximum: '$0.02', charged: dollars, txHash })
    expect(steps.at(-1)).toEqual({ step: 'charged', maximumMicro: MAX, chargedMicro: units, txHash })
    expect([await spent(), sent.length]).toEqual([units, 1])
  })

  test('signs nothing where the maximum is above its limit', async () => {
    await expect(buyerOf({ maxAmount: '$0.019999' }).fetch(url(), post())).rejects.toMatchObject({
      code: 'OVER_LIMIT',
      message: expect.stringContaining('the price may be up to $0.02 and the limit $0.019999'),
    })
    await expect(buyerOf({ metered: 'off' }).fetch(url(), post())).rejects.toMatchObject({
      code: 'OFFER_REFUSED',
    })
    expect([sent.length, shop.backend.seen.length]).toEqual([0, 0])
  })

  test.each(['/chat', '/raw'])(
    'is not charged for a failed call of %s, and makes it again with the same payment',
    async (path) => {
      const buyer = buyerOf()
      answerWith('1858', 500)
      const failed = await buyer.fetch(url(path), post())
      expect(buyer.chargeOf(failed)).toMatchObject({ charged: '$0.00', txHash: '' })
      expect([await spent(), sent.length]).toEqual([0n, 1])
      answerWith('1858')
      const answer = await buyer.fetch(url(path), post())
      expect(buyer.chargeOf(answer)).toMatchObject({ charged: '$0.001858' })
      expect([await spent(), sent.length, distinct()]).toEqual([1858n, 2, 1])
      await buyer.fetch(url(path), post())
      expect([await spent(), distinct()]).toEqual([2n * 1858n, 2])
    },
  )

  test('counts against maxTotal what the chain shows as charged, and the maximum of what is not shown', async () => {
    const buyer = buyerOf({ maxTotal: '$0.025', storage: memoryStorage() })
    answerWith('1858')
    for (let call = 0; call < 3; call++) await buyer.fetch(url(), post())
    // 3 × $0.001858 + $0.02 is above $0.025 now.
    await expect(buyer.fetch(url(), post())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
    const blind = buyerOf({
      maxTotal: '$0.025',
      rpcUrls: { [shop.world.chain.network]: 'http://127.0.0.1:1' },
    })
    await blind.fetch(url(), post())
    await expect(blind.fetch(url(), post())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
    expect(await spent()).toBe(4n * 1858n)
  })
})

describe('a payer that has not', () => {
  beforeEach(() => answerWith('1858'))

  test('is told how, and its payment is used once it has', async () => {
    const buyer = buyerOf()
    const order = post({ 'idempotency-key': `order-${payer.address}` })
    await expect(buyer.fetch(url(), order)).rejects.toMatchObject({
      code: 'ALLOWANCE_REQUIRED',
      gateway: { code: 'PERMIT2_ALLOWANCE_REQUIRED' },
      message: expect.stringContaining(
        `call approve(${PERMIT2_ADDRESS}, 20000 or more) on ${shop.world.chain.usdc.toLowerCase()} once`,
      ),
    })
    expect([shop.backend.seen.length, await transactions()]).toEqual([0, 0])
    await approvePermit2(shop.world.chain, payer)
    expect(buyer.chargeOf(await buyer.fetch(url(), order))).toMatchObject({ charged: '$0.001858' })
    expect([sent.length, distinct(), await spent()]).toEqual([2, 1, 1858n])
  })

  test('approves the maximum of the call if its caller allows that, and sends the same payment again', async () => {
    await shop.world.chain.fundEth(payer.address, ETHER)
    const buyer = buyerOf({ approvePermit2: true })
    expect((await buyer.fetch(url(), post())).status).toBe(200)
    expect([await allowance(), await transactions(), distinct()]).toEqual([MAX - 1858n, 1, 1])
    expect(steps).toContainEqual({
      ...{ step: 'approve', network: shop.world.chain.network, asset: shop.world.chain.usdc.toLowerCase() },
      amountMicro: MAX,
    })
  })

  test('approves an amount once, however many calls need it at once', async () => {
    await shop.world.chain.fundEth(payer.address, ETHER)
    const buyer = buyerOf({ approvePermit2: '$1.00' })
    const answers = await Promise.all([1, 2, 3].map(() => buyer.fetch(url(), post())))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect([await transactions(), await allowance()]).toEqual([1, 1_000_000n - 3n * 1858n])
    expect(await spent()).toBe(3n * 1858n)
  })

  test.each<[string, Partial<BuyerOptions>, RegExp]>([
    ['has no coins for gas', { approvePermit2: true }, /holds no ETH, and an approval is a transaction/],
    ['may approve less', { approvePermit2: '$0.01' }, /approvePermit2 allows less than this call may cost/],
    [
      'has no node to ask',
      { approvePermit2: true, rpcUrls: { 'eip155:84532': 'http://127.0.0.1:1' } },
      /the approval did not succeed/,
    ],
  ])('and %s: one clear line, and nothing is charged', async (_name, options, message) => {
    await expect(buyerOf(options).fetch(url(), post())).rejects.toMatchObject({
      code: 'ALLOWANCE_REQUIRED',
      message: expect.stringMatching(message),
    })
    expect([await transactions(), await spent(), shop.backend.seen.length]).toEqual([0, 0n, 0])
  })
})

describe('paystile buy', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'paystile-metered-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const env = () => ({ BUYER_PRIVATE_KEY: payer.privateKey })
  const command = (...flags: string[]) => [
    ...['buy', url(), '--method', 'POST', '--max-amount', '$0.02', ...flags],
    ...['--payments', join(folder, payer.address), '--rpc-url', shop.world.chain.rpcUrl],
  ]
  const unfinished = async () => (await readdir(join(folder, payer.address, 'unfinished'))).length
  /** Starts the command as a process of its own, and kills it as soon as this is so. */
  async function killWhen(isSo: () => Promise<boolean> | boolean, ...flags: string[]): Promise<void> {
    const child = spawn(process.execPath, [SERVER_PROGRAM, ...command(...flags)], {
      env: env(),
      stdio: 'ignore',
    })
    await expect.poll(isSo, { timeout: 20_000 }).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(await unfinished()).toBe(1)
  }

  test('says the maximum before, and the charge afterwards', async () => {
    await approvePermit2(shop.world.chain, payer)
    answerWith('1858')
    const { code, output, errors } = await cli(env(), ...command())
    expect([code, JSON.parse(output)]).toEqual([0, expect.objectContaining({ type: 'ResourceResponse' })])
    expect(errors).toMatch(
      /^402: it costs up to \$0\.02 on Base Sepolia\nsigned and sent\ncharged \$0\.001858 of at most \$0\.02\npaid in transaction 0x[0-9a-f]{64}\n$/,
    )
    answerWith('0')
    const free = JSON.parse((await cli(env(), ...command('--json'))).output)
    expect(free).toMatchObject({ ok: true, maximum: '$0.02', charged: '$0.00', txHash: '' })
    expect([await spent(), await unfinished()]).toEqual([1858n, 0])
    expect((await cli({}, 'buy', shop.world.baseUrl)).output).toContain(
      `up to $0.02  npx paystile buy ${url()} --method POST --max-amount '$0.02'\n`,
    )
  })

  test('without an allowance says what to do, and with --approve does it and goes on with the same payment', async () => {
    answerWith('1858')
    const lacking = await cli(env(), ...command())
    expect([lacking.code, lacking.errors]).toEqual([
      1,
      expect.stringContaining('Run the same command with --approve'),
    ])
    expect(lacking.errors).toContain(`call approve(${PERMIT2_ADDRESS}, 20000 or more)`)
    const poor = await cli(env(), ...command('--approve'))
    expect([poor.code, poor.errors]).toEqual([1, expect.stringContaining('holds no ETH')])
    await shop.world.chain.fundEth(payer.address, ETHER)
    const { code, errors } = await cli(env(), ...command('--approve'))
    expect([code, errors]).toEqual([0, expect.stringContaining('sending the payment that was signed before')])
    expect(errors).toContain('approving $0.02 for Permit2 on Base Sepolia, once')
    expect([await spent(), await transactions(), await unfinished()]).toEqual([1858n, 1, 0])
  })

  test('a failed call is not charged, and the same command makes it again', async () => {
    await approvePermit2(shop.world.chain, payer)
    answerWith('1858', 500)
    const failed = await cli(env(), ...command())
    expect([failed.code, failed.errors]).toEqual([
      1,
      expect.stringContaining('nothing was charged. The same command'),
    ])
    answerWith('1858')
    const { code, errors } = await cli(env(), ...command())
    expect([code, errors]).toEqual([0, expect.stringContaining('sending the payment that was signed before')])
    expect([await spent(), await unfinished()]).toEqual([1858n, 0])
  })

  test('killed while the call is made: the same command brings its answer, charged once', async () => {
    await approvePermit2(shop.world.chain, payer)
    let release = () => {}
    shop.backend.answer = (_call, response) => {
      release = () =>
        void response.writeHead(200, { 'settlement-overrides': '{"amount":"1858"}' }).end('once')
    }
    await killWhen(() => shop.backend.seen.length === 1)
    release()
    const { code, output, errors } = await cli(env(), ...command('--json'))
    expect([code, errors]).toEqual([0, ''])
    expect(JSON.parse(output)).toMatchObject({ charged: '$0.001858' })
    expect([shop.backend.seen.length, await spent(), await unfinished()]).toEqual([1, 1858n, 0])
  })

  test('killed while the approval is under way: the same command approves no second time', async () => {
    const { chain } = shop.world
    await chain.fundEth(payer.address, ETHER)
    answerWith('1858')
    await chain.setAutomine(false)
    await killWhen(async () => (await chain.client.getTxpoolStatus()).pending === 1, '--approve')
    await chain.setAutomine(true)
    await chain.mine(1)
    const { code } = await cli(env(), ...command('--approve'))
    expect([code, await transactions(), await allowance(), await spent()]).toEqual([0, 1, MAX - 1858n, 1858n])
  })

  test('a node that is no address is refused in one line', async () => {
    const refused = await cli(env(), ...command().slice(0, -1), 'localhost')
    expect([refused.code, refused.errors]).toEqual([
      1,
      expect.stringContaining('--rpc-url localhost is no address'),
    ])
  })
})
