import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Store } from '../ports.ts'
import { findNetwork } from '../protocol/networks.ts'
import type { GatewayOptions } from './options.ts'
import { resolveConfig } from './resolve-config.ts'

const wallet = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F'
const secret = 'correct-horse-battery-staple-0123456789'
const key = `0x${'ab'.repeat(32)}`
const good: GatewayOptions = {
  walletAddress: wallet,
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: secret,
}
const route = { routeId: 'r', method: 'GET', path: '/r', unitAmount: '$0.01' } as const
const rsa = (bits: number) =>
  generateKeyPairSync('rsa', {
    modulusLength: bits,
    privateKeyEncoding: { format: 'pem', type: 'pkcs8' },
    publicKeyEncoding: { format: 'pem', type: 'spki' },
  })
const pem = rsa(2048)
const nothing = () => Promise.resolve(undefined)
const customStore = (name: string) =>
  Object.assign(
    { name },
    ...['commit', 'get', 'list', 'takeDue', 'audit', 'log', 'ping', 'close'].map((method) => ({
      [method]: nothing,
    })),
  ) as Store

/** As a caller without types would write it. */
const withChange = (change: Record<string, unknown>) => ({ ...good, ...change }) as unknown as GatewayOptions

describe('valid options', () => {
  test('the smallest options give every default', () => {
    expect(resolveConfig(good)).toEqual({
      receiptPrivateKey: null,
      shopWindow: { name: 'paystile', logoUrl: null, color: null },
      signedOffers: false,
      networks: [
        {
          network: findNetwork('base-sepolia'),
          walletAddress: wallet.toLowerCase(),
          settlement: { kind: 'facilitator', url: 'https://x402.org/facilitator', auth: { kind: 'none' } },
          refundWalletPrivateKey: null,
          labels: {
            rpcUrl: 'rpcUrl',
            walletAddress: 'walletAddress',
            gasWalletPrivateKey: 'gasWalletPrivateKey',
            facilitatorUrl: 'facilitatorUrl',
            settlerContract: 'settlerContract',
          },
        },
      ],
      maxGasShare: 0.5,
      allowedWalletFactories: [],
      a2a: { streaming: false, transferProofs: true },
      mcp: null,
      documents: true,
      agentVersion: '1.0.0',
      provider: null,
      contactEmail: null,
      plans: good.plans,
      routes: [],
      backend: { kind: 'embedded' },
      guardedPath: null,
      agentName: 'paystile',
      agentDescription: 'API access for USDC',
      baseUrl: 'http://localhost:3000',
      resourceEndpoint: 'http://localhost:3000/resource/{resourceId}',
      store: { kind: 'embedded', dataDir: './data' },
      secretKey: { kind: 'generated', dataDir: './data' },
      credential: { kind: 'hs256', secret },
      tokenTtlSeconds: 3600,
      challengeTtlSeconds: 900,
      settleWaitSeconds: 30,
      pollIntervalMs: 1000,
      refundIntervalSeconds: 60,
      refundMinAgeSeconds: 300,
      maxBodyBytes: 1_048_576,
      maxResourceBytes: 1_048_576,
      requestTimeoutSeconds: 30,
      rateLimitPerMinute: 600,
      payerFailuresPerMinute: 30,
      payerUndeliveredPerDay: 20,
      payerLostGasPerDay: 1_500_000,
      lostGasPerDay: 30_000_000,
      retentionDays: 0,
      trustProxy: false,
      hooks: {},
      webhooks: [],
      webhookAllowHosts: [],
      onAlert: undefined,
    })
  })

  test.each([wallet, wallet.toLowerCase(), `0x${wallet.slice(2).toUpperCase()}`, ` ${wallet} `])(
    'the address %j is taken and canonical',
    (walletAddress) => {
      expect(resolveConfig({ ...good, walletAddress }).networks[0].walletAddress).toBe(wallet.toLowerCase())
    },
  )

  test('URLs lose their last slash where paths are appended, and the explorer gets one', () => {
    const config = resolveConfig({
      ...good,
      baseUrl: ' https://a.example/pay// ',
      facilitatorUrl: 'https://f.example/v2/',
      explorerTxUrl: 'http://localhost:5100/tx',
      rpcUrl: 'http://127.0.0.1:8545/',
    })
    expect(config.baseUrl).toBe('https://a.example/pay')
    expect(config.resourceEndpoint).toBe('https://a.example/pay/resource/{resourceId}')
    expect(config.networks[0].network).toMatchObject({
      facilitatorUrl: 'https://f.example/v2',
      explorerTxUrl: 'http://localhost:5100/tx/',
      rpcUrls: ['http://127.0.0.1:8545/'],
    })
    expect(config.networks[0].settlement).toMatchObject({ kind: 'facilitator', url: 'https://f.example/v2' })
  })

  test('gas wallets may be one key, a comma-separated list or an array, with or without 0x', () => {
    const other = 'CD'.repeat(32)
    for (const gasWalletPrivateKey of [`${key}, ${other}`, [key, other]]) {
      expect(resolveConfig({ ...good, gasWalletPrivateKey }).networks[0].settlement).toEqual({
        kind: 'gas-wallet',
        privateKeys: [key, `0x${'cd'.repeat(32)}`],
      })
    }
  })

  test.each<[Record<string, unknown>, object]>([
    [{ gasWalletPrivateKey: key }, { kind: 'gas-wallet', privateKeys: [key] }],
    [
      { gasWalletPrivateKey: key, settlerContract: true },
      { kind: 'gas-wallet', settler: true },
    ],
    [{ facilitatorUrl: 'https://f.example' }, { kind: 'facilitator', auth: { kind: 'none' } }],
    [{ createAuthHeaders: nothing }, { auth: { kind: 'headers', createAuthHeaders: nothing } }],
    [{ cdpApiKeyId: 'i', cdpApiKeySecret: 's' }, { auth: { kind: 'cdp', apiKeyId: 'i', apiKeySecret: 's' } }],
  ])('mainnet settles with %j', (change, settlement) => {
    expect(resolveConfig(withChange({ ...change, network: 'mainnet' })).networks[0].settlement).toMatchObject(
      settlement,
    )
  })

  test.each<[Record<string, unknown>, object]>([
    [{ tokenSecret: '', tokenPrivateKey: pem.privateKey }, { kind: 'rs256' }],
    [{ tokenSecret: '', tokenPrivateKey: pem.privateKey + pem.publicKey }, { kind: 'rs256' }],
    [{ tokenSecret: '', tokenPrivateKey: [pem.privateKey, pem.publicKey] }, { kind: 'rs256' }],
    [{ tokenSecret: '', fetchResourceCredentials: nothing }, { kind: 'callback' }],
    [
      { tokenSecret: '', issueTokenApi: 'http://api:8080/t?x=1' },
      { kind: 'api', url: 'http://api:8080/t?x=1', secret: null },
    ],
    [
      { tokenSecret: '', issueTokenApi: 'http://api/', issueTokenApiSecret: 's' },
      { kind: 'api', secret: 's' },
    ],
    [{ tokenSecret: '', plans: [], routes: [route] }, { kind: 'none' }],
  ])('the credential step is the one that is given', (change, credential) => {
    expect(resolveConfig(withChange(change)).credential).toMatchObject(credential)
  })

  test('the default of the secret key depends on the store', () => {
    expect(resolveConfig({ ...good, store: 'memory' })).toMatchObject({
      store: { kind: 'memory' },
      secretKey: { kind: 'ephemeral' },
    })
    expect(resolveConfig({ ...good, store: { dataDir: '/var/lib/p' } }).secretKey).toEqual({
      kind: 'generated',
      dataDir: '/var/lib/p',
    })
    const store = customStore('mine')
    expect(resolveConfig({ ...good, store, secretKey: `${secret}, ${secret}2` })).toMatchObject({
      store: { kind: 'custom' },
      secretKey: { kind: 'given', list: `${secret},${secret}2` },
    })
  })
})

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  ['./paystile.json', 'a text'],
])('createGateway(%j) is told what it was given', (options, given) => {
  expect(() => resolveConfig(options as unknown as GatewayOptions)).toThrow(
    `createGateway was given ${given}; it takes an object of options.`,
  )
})
