import { describe, expect, test } from 'vitest'
import { findNetwork } from '../protocol/networks.ts'
import { optionsFromEnv } from './from-env.ts'
import { resolveConfig } from './resolve-config.ts'
import { secretValues } from './secret-values.ts'

const wallet = `0x${'11'.repeat(20)}`
const [one, other, third] = ['11', '22', '33'].map((digits) => digits.repeat(32))
const good = {
  SVC_WALLET_ADDRESS: wallet,
  PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}
const files: Record<string, string> = { '/key': `${third}\n` }
function read(env: Record<string, string | undefined>) {
  const { options, source } = optionsFromEnv({ ...good, ...env }, (path) => files[path]!)
  return resolveConfig(options, source)
}

describe('several networks', () => {
  test('are in the order in which they are named, by whatever name, and share the plain settings', () => {
    const { networks } = read({
      SVC_NETWORK: 'polygon, mainnet,eip155:1',
      GAS_WALLET_PRIVATE_KEY: one,
      REFUND_WALLET_PRIVATE_KEY: other,
    })
    expect(networks.map(({ network }) => network)).toEqual(
      ['polygon', 'base', 'ethereum'].map((word) => findNetwork(word)),
    )
    for (const { walletAddress, settlement, refundWalletPrivateKey } of networks) {
      expect(walletAddress).toBe(wallet)
      expect(settlement).toEqual({ kind: 'gas-wallet', privateKeys: [`0x${one}`] })
      expect(refundWalletPrivateKey).toBe(`0x${other}`)
    }
  })

  test('the settler contract is for gas wallets, on all networks or on single ones', () => {
    const both = { SVC_NETWORK: 'base,polygon', GAS_WALLET_PRIVATE_KEY: one }
    const settlers = (more: Record<string, string>) =>
      read({ ...both, ...more }).networks.map(({ settlement }) => 'settler' in settlement)
    expect(settlers({})).toEqual([false, false])
    expect(settlers({ SETTLER_CONTRACT: 'true' })).toEqual([true, true])
    expect(settlers({ SETTLER_CONTRACT: 'true', SETTLER_CONTRACT_137: 'false' })).toEqual([true, false])
    expect(settlers({ SETTLER_CONTRACT_137: 'on' })).toEqual([false, true])
    const mixed = { ...both, FACILITATOR_URL_137: 'https://f.example' }
    expect(() => read({ ...mixed, SETTLER_CONTRACT: 'true' })).toThrow(
      'SETTLER_CONTRACT is for gas wallets, and payments on polygon are settled by a facilitator; set GAS_WALLET_PRIVATE_KEY_137 to settle with your own wallet, or SETTLER_CONTRACT_137 to false.',
    )
    expect(() => read({ ...both, SETTLER_CONTRACT_137: 'maybe' })).toThrow(
      'SETTLER_CONTRACT_137 is "maybe"; it must be true or false, for example SETTLER_CONTRACT_137=true',
    )
  })

  test("a network's own settings win, and only there", () => {
    const { networks } = read({
      SVC_NETWORK: 'base,polygon',
      GAS_WALLET_PRIVATE_KEY: one,
      CONFIRMATIONS: '3',
      RPC_URL_137: 'https://a.example, https://b.example/k',
      EXPLORER_TX_URL_137: 'https://scan.example/tx',
      SVC_WALLET_ADDRESS_137: `0x${'22'.repeat(20)}`,
      GAS_WALLET_PRIVATE_KEY_137: `${other},${third}`,
      REFUND_WALLET_PRIVATE_KEY_137_FILE: '/key',
      CONFIRMATIONS_137: '5',
      NATIVE_USD_137: '0.25',
    })
    expect(networks).toMatchObject([
      {
        network: { ...findNetwork('base'), confirmations: 3 },
        walletAddress: wallet,
        settlement: { privateKeys: [`0x${one}`] },
        refundWalletPrivateKey: null,
        labels: {
          rpcUrl: 'RPC_URL_8453',
          walletAddress: 'SVC_WALLET_ADDRESS',
          gasWalletPrivateKey: 'GAS_WALLET_PRIVATE_KEY',
          facilitatorUrl: 'FACILITATOR_URL_8453',
        },
      },
      {
        network: {
          rpcUrls: ['https://a.example', 'https://b.example/k'],
          explorerTxUrl: 'https://scan.example/tx/',
          confirmations: 5,
          native: { symbol: 'POL', usd: 0.25 },
        },
        walletAddress: `0x${'22'.repeat(20)}`,
        settlement: { privateKeys: [`0x${other}`, `0x${third}`] },
        refundWalletPrivateKey: `0x${third}`,
        labels: {
          rpcUrl: 'RPC_URL_137',
          walletAddress: 'SVC_WALLET_ADDRESS_137',
          gasWalletPrivateKey: 'GAS_WALLET_PRIVATE_KEY_137',
          facilitatorUrl: 'FACILITATOR_URL_137',
        },
      },
    ])
  })

  test('a way to settle that is given for one network wins over one that is given for all', () => {
    const ways = (env: Record<string, string>) =>
      read({ SVC_NETWORK: 'base,polygon', ...env }).networks.map(({ settlement }) =>
        settlement.kind === 'facilitator' ? settlement.url : 'gas wallet',
      )
    expect(ways({ FACILITATOR_URL: 'https://f.example', GAS_WALLET_PRIVATE_KEY_137: one! })).toEqual([
      'https://f.example',
      'gas wallet',
    ])
    expect(ways({ GAS_WALLET_PRIVATE_KEY: one!, FACILITATOR_URL_137: 'https://f.example/' })).toEqual([
      'gas wallet',
      'https://f.example',
    ])
  })

  test("Coinbase's keys are not used for a facilitator that is given for one network", () => {
    const keys = { CDP_API_KEY_ID: 'i', CDP_API_KEY_SECRET: 's' }
    const { networks } = read({
      SVC_NETWORK: 'base,polygon',
      FACILITATOR_URL_137: 'https://f.example',
      ...keys,
    })
    expect(networks.map(({ settlement }) => 'auth' in settlement && settlement.auth.kind)).toEqual([
      'cdp',
      'none',
    ])
  })

  test('one network takes settings with its chain id as well, and several RPCs', () => {
    const [{ network, labels }] = read({ RPC_URL_84532: 'https://a.example' }).networks
    expect([network.rpcUrls, labels.rpcUrl]).toEqual([['https://a.example'], 'RPC_URL_84532'])
    const plain = read({ RPC_URL: 'https://a.example,https://b.example' }).networks[0]
    expect([plain.network.rpcUrls, plain.labels.rpcUrl]).toEqual([
      ['https://a.example', 'https://b.example'],
      'RPC_URL',
    ])
  })

  test('in options, settings are named by their place', () => {
    const { networks } = resolveConfig({
      walletAddress: wallet,
      networks: ['base', 'polygon'],
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      tokenSecret: good.TOKEN_SECRET,
      gasWalletPrivateKey: one,
      perNetwork: { 137: { rpcUrl: ['https://a.example'], gasWalletPrivateKey: [other!] } },
      maxGasShare: '10%',
    })
    expect(networks[1]).toMatchObject({
      network: { rpcUrls: ['https://a.example'] },
      labels: {
        rpcUrl: 'perNetwork[137].rpcUrl',
        gasWalletPrivateKey: 'perNetwork[137].gasWalletPrivateKey',
      },
    })
    expect(networks[0]!.labels).toMatchObject({ gasWalletPrivateKey: 'gasWalletPrivateKey' })
  })

  test.each([
    ['0.25', 0.25],
    ['25%', 0.25],
    ['0', 0],
    ['100 %', 1],
  ])('MAX_GAS_SHARE=%s is %s', (text, share) => {
    expect(read({ MAX_GAS_SHARE: text }).maxGasShare).toBe(share)
  })

  test('keys and RPCs of every network are secrets', () => {
    const secrets = secretValues(
      read({
        SVC_NETWORK: 'base,polygon',
        GAS_WALLET_PRIVATE_KEY: one,
        GAS_WALLET_PRIVATE_KEY_137: other,
        REFUND_WALLET_PRIVATE_KEY_137: third,
        RPC_URL_137: 'https://a.example/first-key-of-the-seller,https://b.example/second-key-of-the-seller',
      }),
    )
    expect(secrets).toEqual(
      expect.arrayContaining([one, other, third, 'first-key-of-the-seller', 'second-key-of-the-seller']),
    )
  })
})

describe('a described network', () => {
  const token = {
    address: '0x2A22F9C3B484c3629090FeED35F17Ff8F88f76F0',
    decimals: 18,
    domain: { name: 'Dollar', version: '1' },
  }
  const gnosis = {
    id: 'eip155:100',
    testnet: false,
    token: { ...token, address: token.address.toLowerCase() },
    rpcUrl: 'https://rpc.example',
    explorerTxUrl: 'https://scan.example/tx',
  }

  test('gets defaults, and is chosen by id or word beside known ones', () => {
    const env = { GAS_WALLET_PRIVATE_KEY: one, NETWORKS: JSON.stringify([{ ...gnosis, word: 'gnosis' }]) }
    const expected = {
      id: 'eip155:100',
      chainId: 100,
      word: 'gnosis',
      aliases: [],
      name: 'gnosis',
      testnet: false,
      token: { ...gnosis.token, symbol: 'USDC' },
      native: { symbol: 'ETH', usd: 4000 },
      rpcUrls: ['https://rpc.example'],
      explorerTxUrl: 'https://scan.example/tx/',
      facilitatorUrl: null,
      blockMs: 2000,
      confirmations: 1,
      finalDepth: null,
      fees: { minTipGwei: 0, maxGwei: 1000, legacy: false },
      logRange: 2000,
    }
    expect(read({ ...env, SVC_NETWORK: 'gnosis' }).networks[0].network).toEqual(expected)
    expect(read({ ...env, SVC_NETWORK: 'base,eip155:100' }).networks[1]!.network).toEqual(expected)
    const own = { ...env, SVC_NETWORK: 'gnosis', RPC_URL_100: 'https://own.example' }
    expect(read(own).networks[0].network.rpcUrls).toEqual(['https://own.example'])
  })

  test('may say everything that the table says', () => {
    const whole = {
      ...gnosis,
      name: 'Gnosis',
      facilitatorUrl: 'https://f.example/',
      native: { symbol: 'XDAI', usd: 1 },
      blockMs: 5000,
      confirmations: 2,
      finalDepth: 64,
      fees: { legacy: true },
      logRange: 500,
    }
    const { network, settlement } = read({ SVC_NETWORK: 'eip155:100', NETWORKS: JSON.stringify([whole]) })
      .networks[0]
    expect(network).toMatchObject({
      word: 'eip155:100',
      name: 'Gnosis',
      native: { symbol: 'XDAI', usd: 1 },
      blockMs: 5000,
      confirmations: 2,
      finalDepth: 64,
      fees: { minTipGwei: 0, maxGwei: 1000, legacy: true },
      logRange: 500,
    })
    expect(settlement).toMatchObject({ kind: 'facilitator', url: 'https://f.example' })
  })
})
