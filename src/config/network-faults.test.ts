import { describe, expect, test } from 'vitest'
import { optionsFromEnv } from './from-env.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig } from './resolve-config.ts'

const wallet = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F'
const key = 'ab'.repeat(32)
const good = {
  SVC_WALLET_ADDRESS: wallet,
  PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}
const two = { SVC_NETWORK: 'base,polygon', GAS_WALLET_PRIVATE_KEY: key }
const gnosis = {
  id: 'eip155:100',
  testnet: false,
  token: {
    address: '0x2a22f9c3b484c3629090feed35f17ff8f88f76f0',
    decimals: 6,
    domain: { name: 'USD Coin', version: '2' },
  },
  rpcUrls: ['https://rpc.example/hunter2hunter2'],
  explorerTxUrl: 'https://scan.example/tx',
}
const described = (change: object, token: object = {}) => ({
  NETWORKS: JSON.stringify([{ ...gnosis, token: { ...gnosis.token, ...token }, ...change }]),
})

function linesOf(env: Record<string, string>): string[] {
  const { options, source } = optionsFromEnv({ ...good, ...env }, () => {
    throw Object.assign(new Error('none'), { code: 'ENOENT' })
  })
  const { faults, missing } = checkConfig(options, source)
  return [...missing, ...faults]
}

describe('a fault of several networks is one line that names its variable', () => {
  test.each<[Record<string, string>, string]>([
    // names
    [
      { SVC_NETWORK: 'base,polygn', GAS_WALLET_PRIVATE_KEY: key },
      'SVC_NETWORK "polygn" is unknown; did you mean "polygon"? It can be base, mainnet,',
    ],
    [{ SVC_NETWORK: 'moon' }, 'SVC_NETWORK "moon" is unknown; it can be base, mainnet, base-sepolia,'],
    [{ SVC_NETWORK: ',' }, 'SVC_NETWORK names no network; for example SVC_NETWORK=base'],
    [
      { ...two, SVC_NETWORK: 'base, mainnet' },
      'SVC_NETWORK names Base twice, as base and as mainnet; keep it once.',
    ],
    [{ ...two, SVC_NETWORK: 'polygon,polygon' }, 'SVC_NETWORK names Polygon twice; keep it once.'],
    [
      { ...two, SVC_NETWORK: 'eip155:137,polygon' },
      'SVC_NETWORK names Polygon twice, as eip155:137 and as polygon',
    ],
    [
      { ...two, SVC_NETWORK: 'base,base-sepolia' },
      'SVC_NETWORK mixes test money (base-sepolia) with real money (base); keep one kind',
    ],
    // settings of one network
    [
      { ...two, RPC_URL: 'https://a.example' },
      'RPC_URL is of one network, and there are several; set RPC_URL_8453, RPC_URL_137 instead.',
    ],
    [
      { ...two, EXPLORER_TX_URL: 'https://a.example' },
      'EXPLORER_TX_URL is of one network, and there are several; set EXPLORER_TX_URL_8453,',
    ],
    [
      { ...two, RPC_URL_137: 'wss://hunter2.example' },
      'RPC_URL_137 begins with wss:; it must be an http or https URL, for example RPC_URL_137=https://polygon-rpc.com',
    ],
    [{ ...two, RPC_URL_137: 'https://a.example,x' }, 'RPC_URL_137 (URL 2 of 2) is not a URL'],
    [
      { ...two, RPC_URL_137: 'https://a.example,https://a.example' },
      'RPC_URL_137 (URL 2 of 2) is there twice',
    ],
    [{ ...two, RPC_URL_137_FILE: '/nope' }, 'RPC_URL_137_FILE names /nope, which cannot be read (ENOENT).'],
    [
      { ...two, RPC_URL_42161: 'https://a.example' },
      'RPC_URL_42161 is for eip155:42161, which SVC_NETWORK does not name; add it there, or remove RPC_URL_42161.',
    ],
    [{ CONFIRMATIONS_137: '2' }, 'CONFIRMATIONS_137 is for eip155:137, which SVC_NETWORK does not name'],
    [
      { ...two, CONFIRMATIONS_137: '0' },
      'CONFIRMATIONS_137 is 0; it must be a whole number from 1 to 1000, for example CONFIRMATIONS_137=1',
    ],
    [
      { ...two, CONFIRMATIONS_137: 'x' },
      'CONFIRMATIONS_137 is "x"; it must be a whole number, for example CONFIRMATIONS_137=1',
    ],
    [{ ...two, CONFIRMATIONS: '0' }, 'CONFIRMATIONS is 0; it must be'],
    [
      { ...two, NATIVE_USD_137: '0' },
      'NATIVE_USD_137 is 0; it must be the price of one POL in dollars, for example 0.5.',
    ],
    [{ ...two, NATIVE_USD_137: '1e3' }, 'NATIVE_USD_137 is "1e3"; it must be a number'],
    [
      { ...two, SVC_WALLET_ADDRESS_137: '0x12' },
      'SVC_WALLET_ADDRESS_137 has 2 hex digits; an address has 40, for example 0x71C7…976F.',
    ],
    [
      { ...two, SVC_WALLET_ADDRESS: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359' },
      'SVC_WALLET_ADDRESS is the USDC contract of Polygon; money sent there is lost.',
    ],
    [
      { ...two, SVC_WALLET_ADDRESS_137: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
      'SVC_WALLET_ADDRESS_137 is the USDC contract of Base',
    ],
    [
      { ...two, SVC_WALLET_ADDRESS: '', SVC_WALLET_ADDRESS_137: wallet },
      'SVC_WALLET_ADDRESS is missing; it receives the USDC',
    ],
    [
      { ...two, REFUND_WALLET_PRIVATE_KEY_137: 'hunter2' },
      'REFUND_WALLET_PRIVATE_KEY_137 has a character that is no hex digit',
    ],
    // ways to settle
    [
      { SVC_NETWORK: 'base-sepolia,arbitrum-sepolia' },
      'FACILITATOR_URL_421614 and GAS_WALLET_PRIVATE_KEY_421614 are not set, and no facilitator of arbitrum-sepolia is known; set GAS_WALLET_PRIVATE_KEY_421614 to',
    ],
    [
      { SVC_NETWORK: 'arbitrum-sepolia' },
      'FACILITATOR_URL and GAS_WALLET_PRIVATE_KEY are not set, and no facilitator of arbitrum-sepolia is known',
    ],
    [
      { SVC_NETWORK: 'base-sepolia,arbitrum-sepolia', GAS_WALLET_PRIVATE_KEY_421614_FILE: '/nope' },
      'GAS_WALLET_PRIVATE_KEY_421614_FILE names /nope',
    ],
    [
      { SVC_NETWORK: 'base,polygon', GAS_WALLET_PRIVATE_KEY_137: key },
      'CDP_API_KEY_ID and CDP_API_KEY_SECRET are not set; the facilitator of base needs them. Set both, or FACILITATOR_URL_8453 to another one, or GAS_WALLET_PRIVATE_KEY_8453',
    ],
    [
      { ...two, GAS_WALLET_PRIVATE_KEY_137: key, FACILITATOR_URL_137: 'https://f.example' },
      'FACILITATOR_URL_137 and GAS_WALLET_PRIVATE_KEY_137 are both set; keep one way to settle.',
    ],
    [
      { ...two, FACILITATOR_URL: 'https://f.example' },
      'FACILITATOR_URL and GAS_WALLET_PRIVATE_KEY are both set; keep one way to settle.',
    ],
    [
      { ...two, GAS_WALLET_PRIVATE_KEY_137: '0x12' },
      'GAS_WALLET_PRIVATE_KEY_137 has 2 hex digits; a private key has 64, for example 0x4c08…2318.',
    ],
    // gas share
    [
      { MAX_GAS_SHARE: '50' },
      'MAX_GAS_SHARE is "50"; it must be a number from 0 to 1 or a percentage, for example MAX_GAS_SHARE=50%',
    ],
    [{ MAX_GAS_SHARE: '101%' }, 'MAX_GAS_SHARE is "101%"'],
    [{ MAX_GAS_SHARE: 'half' }, 'MAX_GAS_SHARE is "half"'],
    // described networks
    [{ NETWORKS: '{}' }, 'NETWORKS is an object; it must be a list of networks'],
    [
      { NETWORKS: 'base, polygon' },
      'NETWORKS describes networks that are not known, as JSON; to choose known ones, set SVC_NETWORK=base,polygon',
    ],
    [{ NETWORKS: '[' }, 'NETWORKS is no valid JSON at line 1, column 2'],
    [
      { NETWORKS: '["gnosis"]' },
      'NETWORKS[0] is a text; it must be an object that describes a network, for example {"id":"eip155:100", …}.',
    ],
    [
      described({ id: 'eip155:137' }),
      'NETWORKS[0].id is eip155:137, which is known as polygon; leave it out here, and change what differs by RPC_URL_137,',
    ],
    [
      described({ id: 'gnosis' }),
      'NETWORKS[0].id is a text that does not fit; it must be "eip155:" and a chain id, for example "id": "eip155:100"',
    ],
    [
      described({ word: 'base' }),
      'NETWORKS[0].word is "base", which is another network; choose another word.',
    ],
    [
      described({ testnet: undefined }),
      'NETWORKS[0].testnet is missing; it must be true (test money) or false (real money), for example "testnet": false',
    ],
    [
      described({}, { decimals: '6' }),
      'NETWORKS[0].token.decimals is a text that does not fit; it must be a whole number from 6 to 36, for example "decimals": 6',
    ],
    [described({}, { decimals: 2 }), 'NETWORKS[0].token.decimals is 2; it must be'],
    [described({}, { address: '0x12' }), 'NETWORKS[0].token.address is a text that does not fit'],
    [
      described({}, { domain: { name: 'USDC' } }),
      'NETWORKS[0].token.domain.version is missing; it must be a text',
    ],
    [
      described({}, { adress: '0x12' }),
      'NETWORKS[0].token has an unknown member "adress"; did you mean "address"?',
    ],
    [
      described({ rpcUrls: ['wss://hunter2'] }),
      'NETWORKS[0].rpcUrls[0] is a text that does not fit; it must be a list of http or https URLs',
    ],
    [described({ rpcUrls: undefined }), 'NETWORKS[0].rpcUrls is missing'],
    [described({ rpcUrl: 'https://b.example' }), 'NETWORKS[0] has both rpcUrl and rpcUrls; keep one.'],
    [
      described({ native: { symbol: 'XDAI', usd: 0 } }),
      'NETWORKS[0].native.usd is 0; it must be a number above 0',
    ],
    [
      described({ colour: 'red' }),
      'NETWORKS[0] has an unknown member "colour"; it may have id, name, word, testnet, token,',
    ],
    [
      { NETWORKS: JSON.stringify([gnosis, gnosis]) },
      'NETWORKS[1].id is eip155:100, which is described twice; keep one.',
    ],
  ])('%j', (env, line) => {
    const lines = linesOf(env)
    expect(lines).toEqual([expect.stringContaining(line)])
    expect(lines[0]).not.toMatch(/\n|hunter2/)
  })
})

describe('options of createGateway', () => {
  const options = {
    walletAddress: wallet,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    tokenSecret: good.TOKEN_SECRET,
  }
  const faultsOf = (change: Record<string, unknown>) => {
    const { faults, missing } = checkConfig({ ...options, ...change } as unknown as GatewayOptions)
    return [...missing, ...faults]
  }
  test.each<[Record<string, unknown>, string]>([
    [
      { network: 'base-sepolia', networks: ['base-sepolia'] },
      'network and networks are both set; they mean the same, keep one.',
    ],
    [{ networks: 7 }, 'networks is a number; it must be a text.'],
    [{ networks: [7] }, 'networks must be a text or a list of texts'],
    [
      { networks: ['base', 'polygon'], gasWalletPrivateKey: key, rpcUrl: 'https://a.example' },
      'rpcUrl is of one network, and there are several; set perNetwork[8453].rpcUrl, perNetwork[137].rpcUrl instead.',
    ],
    [{ perNetwork: [] }, 'perNetwork is a list; it must be an object'],
    [{ perNetwork: { polygon: {} } }, 'perNetwork["polygon"] is no chain id; for example'],
    [
      { perNetwork: { 137: { rpcUrl: 'https://a.example' } } },
      'perNetwork[137] is for eip155:137, which network does not name; add it there, or remove perNetwork[137].',
    ],
    [{ perNetwork: { 84532: 'x' } }, 'perNetwork[84532] is a text; it must be an object'],
    [
      { perNetwork: { 84532: { rpcURL: 'x' } } },
      'perNetwork[84532].rpcURL is not an option; did you mean "rpcUrl"?',
    ],
    [
      { perNetwork: { 84532: { rpcUrl: 'x' } } },
      'perNetwork[84532].rpcUrl is not a URL, for example perNetwork[84532].rpcUrl: "https://sepolia.base.org"',
    ],
    [
      { perNetwork: { 84532: { nativeUsd: '4000' } } },
      'perNetwork[84532].nativeUsd is a text; it must be the price of one ETH in dollars',
    ],
    [
      { perNetwork: { 84532: { gasWalletPrivateKey: [key, key] } } },
      'perNetwork[84532].gasWalletPrivateKey (key 2 of 2) is there twice',
    ],
    [{ customNetworks: [{ id: 'eip155:8453' }] }, 'customNetworks[0].testnet is missing'],
    [
      { maxGasShare: 2 },
      'maxGasShare is 2; it must be a number from 0 to 1 or a percentage, for example maxGasShare: "50%"',
    ],
  ])('%j', (change, line) => {
    expect(faultsOf(change)[0]).toContain(line)
  })
})
