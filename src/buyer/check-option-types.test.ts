import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { type BuyerOptions, createBuyer, memoryStorage } from './index.ts'

const key = generatePrivateKey()
const account = privateKeyToAccount(key)
const made = (options: object) => createBuyer({ account, maxAmount: '$1.00', ...options })

test.each<[object, string]>([
  [{ maxTotl: '$5.00' }, 'maxTotl is not an option; did you mean "maxTotal"?'],
  [{ allowedHost: ['api.example.com'] }, 'allowedHost is not an option; did you mean "allowedHosts"?'],
  [{ allowedHosts: 'api.example.com' }, 'allowedHosts must be a list'],
  [{ allowedHosts: [new URL('https://api.example.com')] }, 'allowedHosts must be a list of texts'],
  [{ networks: 'base' }, 'networks must be a list'],
  [{ storage: {} }, 'storage has no get, claim, forget, reserve, release; fileStorage(folder) and'],
  [{ storage: { ...memoryStorage(), reserve: undefined } }, 'storage has no reserve'],
  [{ storage: './payments' }, 'storage has no get'],
  [{ storage: null }, 'storage has no get'],
  [{ rpcUrls: { base: 'https://rpc.example.com' } }, 'rpcUrls has "base"; its keys are CAIP-2 ids such as'],
  [
    { rpcUrls: { 'eip155:8453': 'rpc.example.com' } },
    'rpcUrls has no http or https address for "eip155:8453"',
  ],
  [{ rpcUrls: 'https://rpc.example.com' }, 'rpcUrls must be an object such as {"eip155:8453": "https://…"}'],
  [{ maxWaitSeconds: '10' }, 'maxWaitSeconds is "10"; it must be a positive number'],
  [{ maxWaitSeconds: 0 }, 'maxWaitSeconds is 0'],
  [{ maxWaitSeconds: Number.NaN }, 'maxWaitSeconds is NaN'],
  [{ maxResponseBytes: 1.5 }, 'maxResponseBytes is 1.5; it must be a positive whole number'],
  [{ maxResponseBytes: '1000' }, 'maxResponseBytes is "1000"'],
  [{ beforeSign: true }, 'beforeSign must be a function'],
  [{ account: undefined }, 'account must have an address and signTypedData'],
  [{ account: { address: account.address } }, 'account must have an address and signTypedData'],
  [{ account: { ...account, address: 'me' } }, 'account must have an address and signTypedData'],
])('an option that would be ignored, or fail at the first payment, is refused: %o', (options, message) => {
  expect(() => made(options)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  expect(() => made(options)).toThrow(message)
})

test.each([
  { maxTotal: undefined, maxTotl: undefined, allowedHosts: [] },
  { maxWaitSeconds: 0.5, maxResponseBytes: 1, rpcUrls: {} },
  { rpcUrls: { 'eip155:8453': 'http://localhost:8545', 'eip155:84532': undefined } },
  { storage: memoryStorage(), fetch, onStep: () => {} },
])('what was not given is not missed, and what is right is taken: %o', (options) => {
  expect(() => made(options)).not.toThrow()
})

test.each<[unknown, string]>([
  [7, 'networks has 7; each is a word such as "base"'],
  [null, 'networks has null; each is a word'],
  [{ id: 'eip155:1', chainId: 1, asset: key }, 'cannot be used: domain is missing'],
  [
    { id: 'eip155:1', chainId: 1, asset: key, domain: {}, decimal: 18 },
    'cannot be used: decimal is not an option; did you mean "decimals"?',
  ],
])('a network of which something is missing or misspelt is refused: %o', (network, message) => {
  const options = { account, maxAmount: '$1.00', networks: [network] }
  expect(() => createBuyer(options as unknown as BuyerOptions)).toThrow(message)
})

test('no message repeats a key that was given in the wrong place', () => {
  const misplaced: unknown[] = [key, { account: key, maxAmount: '$1.00' }]
  for (const options of misplaced) {
    const wrong = () => createBuyer(options as BuyerOptions)
    expect(wrong).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(wrong).not.toThrow(key)
  }
  expect(() => createBuyer(undefined as never)).toThrow('the options are undefined')
})

test.each<[unknown, string]>([
  [{}, 'planId is missing'],
  [undefined, 'the options are undefined, and not an object with any of planId'],
  [{ plan: 'hourly' }, 'plan is not an option; did you mean "planId"?'],
  [{ planId: 'hourly', requestID: 'order-1' }, 'requestID is not an option; did you mean "requestId"?'],
  [{ planId: null }, 'planId'],
])(
  'an order that would buy something else, or twice, is refused before anything is asked: %o',
  async (order, message) => {
    const asked: unknown[] = []
    const seller = async (input: unknown) => {
      asked.push(input)
      return new Response(null, { status: 500 })
    }
    const bought = made({ fetch: seller }).buy('https://api.example.com', order as { planId: string })
    await expect(bought).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(message),
    })
    expect(asked).toEqual([])
  },
)

test('a gateway that says what is wrong where x402 has it is quoted', async () => {
  const seller = async () => Response.json({ error: 'no such plan here' }, { status: 400 })
  const bought = made({ fetch: seller }).buy('https://api.example.com', { planId: 'hourly' })
  await expect(bought).rejects.toThrow('the gateway refused: no such plan here')
})
