import { describe, expect, test } from 'vitest'
import { previewPayment } from '../server/setup/preview-payment.ts'
import { readConfiguration } from './read-configuration.ts'
import { variableFault } from './variable-fault.ts'

const wallet = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F'
const good = {
  SVC_WALLET_ADDRESS: wallet,
  PLANS: [{ planId: 'basic', unitAmount: '$1.00' }],
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}
const read = (env: Record<string, string>, saved: Record<string, string | unknown[]>, infra = {}) =>
  readConfiguration(env, saved, () => '', infra)

describe('readConfiguration', () => {
  test('saved values have the same effect as variables of the environment', () => {
    const { config, missing, faults } = read({}, good)
    expect({ missing, faults }).toEqual({ missing: [], faults: [] })
    expect(config?.networks[0].walletAddress).toBe(wallet.toLowerCase())
  })

  test('settings of single networks may be saved, and the environment wins there too', () => {
    const saved = { ...good, SVC_NETWORK: 'base-sepolia', RPC_URL_84532: 'https://saved.example' }
    const rpcOf = (env: Record<string, string>) => read(env, saved).config?.networks[0].network.rpcUrls
    expect(rpcOf({})).toEqual(['https://saved.example'])
    expect(rpcOf({ RPC_URL_84532: 'https://env.example' })).toEqual(['https://env.example'])
  })

  test('the environment wins', () => {
    expect(read({ AGENT_NAME: 'env' }, { ...good, AGENT_NAME: 'saved' }).config?.agentName).toBe('env')
  })

  test('faults of the environment are separated from those of the file', () => {
    expect(read({ CONFIRMATIONS: 'x' }, good).environmentFaults).toHaveLength(1)
    const saved = read({}, { ...good, CONFIRMATIONS: 'x' })
    expect([saved.faults.length, saved.environmentFaults]).toEqual([1, []])
    // Each has one half of a pair; together they are complete.
    const pair = read(
      { ISSUE_TOKEN_API_SECRET: 's' },
      { ...good, TOKEN_SECRET: '', ISSUE_TOKEN_API: 'http://a' },
    )
    expect([pair.faults, pair.environmentFaults]).toEqual([[], []])
  })

  test('a setting of a network that is not chosen yet is no fault of the environment, unless it chooses the networks', () => {
    const own = { RPC_URL_137: 'https://rpc.example' }
    const later = read(own, {})
    expect([later.faults.length, later.environmentFaults]).toEqual([1, []])
    expect(read({ ...own, SVC_NETWORK: 'base-sepolia' }, {}).environmentFaults).toHaveLength(1)
    const { PLANS, ...texts } = good
    expect(read({ ...own, ...texts, PLANS: JSON.stringify(PLANS) }, {}).environmentFaults).toHaveLength(1)
    const chosen = { ...good, SVC_NETWORK: 'polygon', GAS_WALLET_PRIVATE_KEY: '11'.repeat(32) }
    expect(read(own, chosen).faults).toEqual([])
  })

  test('a store that was found is used only if none is named', () => {
    const infra = { REDIS_URL: 'redis://redis:6379/0' }
    const key = { ...good, SVC_SECRET_KEY: 'k'.repeat(32) }
    expect(read({}, key, infra).config?.store).toMatchObject({ kind: 'redis', url: infra.REDIS_URL })
    expect(read({}, { ...key, DATABASE_URL: 'postgres://a@b/c' }, infra).config?.store).toMatchObject({
      kind: 'postgres',
      wakeupsUrl: null,
    })
  })
})

describe('variableFault', () => {
  test.each([
    ['SVC_WALLET_ADDRESS has 39 hex digits', 'SVC_WALLET_ADDRESS'],
    ['PLANS[0].unitAmount "x" is bad', 'PLANS'],
    ['TOKEN_SECRET_FILE names /nope', 'TOKEN_SECRET'],
    ['TOKEN_SECRET, TOKEN_PRIVATE_KEY or ISSUE_TOKEN_API is missing', 'TOKEN_SECRET'],
    ['DATABASE_URL: postgres://u@h refuses', 'DATABASE_URL'],
    ['ADMIN_TOKEN has 7 characters', 'ADMIN_TOKEN'],
    ['RPC_URL_137 is not a URL', 'RPC_URL_137'],
    ['RPC_URL_137_FILE names /nope', 'RPC_URL_137'],
    ['NETWORKS[0].token.decimals is missing', 'NETWORKS'],
    ['./data/config.json is no valid JSON', null],
    ['NOBODY knows', null],
  ])('%s is about %s', (message, name) => {
    expect(variableFault(message)).toEqual({ name, message })
  })
})

describe('previewPayment', () => {
  test('the 402 is shown if wallet, network and price are valid', () => {
    const plans = [{ planId: 'basic', unitAmount: '$1.50', description: 'All of it' }]
    expect(previewPayment({ walletAddress: wallet, network: 'mainnet', plans })).toMatchObject({
      x402Version: 2,
      accepts: [
        {
          network: 'eip155:8453',
          amount: '1500000',
          payTo: wallet.toLowerCase(),
          extra: { name: 'USD Coin', planId: 'basic', description: 'All of it' },
        },
      ],
    })
    const routes = [{ routeId: 'r', method: 'GET' as const, path: '/r/:x', unitAmount: '$0.01' }]
    expect(previewPayment({ walletAddress: wallet, routes })).toMatchObject({
      resource: { url: 'http://localhost:3000/r/:x', method: 'GET' },
      accepts: [{ amount: '10000', extra: { routeId: 'r' } }],
    })
  })

  test('the 402 has an entry per network, with the wallet that is paid there', () => {
    const plans = [{ planId: 'basic', unitAmount: '$1.50' }]
    const other = `0x${'22'.repeat(20)}`
    const perNetwork = { 137: { walletAddress: other, rpcUrl: 'nonsense' } }
    const preview = previewPayment({ walletAddress: wallet, network: 'base,polygon', plans, perNetwork })
    expect(preview?.accepts).toMatchObject([
      { network: 'eip155:8453', payTo: wallet.toLowerCase() },
      { network: 'eip155:137', payTo: other },
    ])
  })

  test('nothing is shown if one of them is not', () => {
    const plans = [{ planId: 'basic', unitAmount: '1.50' }]
    expect(previewPayment({ walletAddress: wallet, plans })).toBeNull()
    expect(previewPayment({ walletAddress: wallet })).toBeNull()
  })
})
