import fc from 'fast-check'
import { discoveryOf } from '../../src/config/discovery.ts'
import { VARIABLES } from '../../src/config/from-env.ts'
import { NETWORK_VARIABLES } from '../../src/config/network-variables.ts'
import { readConfiguration } from '../../src/config/read-configuration.ts'
import { isSecret } from '../../src/config/secret-variables.ts'
import { SERVER_VARIABLES } from '../../src/config/server-variables.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import { buildCatalog } from '../../src/rules/catalog.ts'
import { expand, type Json, render, someMutation } from './mutate.ts'
import { fault, openTarget, type Target } from './target.ts'

/** Settings of networks that are known, chosen now and then, or nowhere. */
const OF_ONE_NETWORK = Object.values(NETWORK_VARIABLES).flatMap(({ variable }) =>
  ['84532', '8453', '137', '421614', '999', '0', '01'].map((chainId) => `${variable}_${chainId}`),
)
const NAMES = [...Object.keys(VARIABLES), ...Object.keys(SERVER_VARIABLES), ...OF_ONE_NETWORK]
const PLANS: Json = [{ planId: 'basic', unitAmount: '$1.00', description: 'x', tokenTtlSeconds: 60 }]
const NETWORKS: Json = [
  {
    id: 'eip155:999',
    word: 'ours',
    testnet: true,
    token: { address: `0x${'ab'.repeat(20)}`, decimals: 18, domain: { name: 'Dollar', version: '1' } },
    rpcUrls: ['https://rpc.example'],
    explorerTxUrl: 'https://scan.example/tx/',
  },
]
const ROUTES: Json = [
  { routeId: 'r', method: 'GET', path: '/r/:id', unitAmount: '$0.01' },
  { routeId: 'f', method: 'GET', path: '/f', free: true },
]

/** Enough to start with; an input changes and adds variables. */
const GOOD: Record<string, string> = {
  SVC_WALLET_ADDRESS: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  PLANS: JSON.stringify(PLANS),
  ROUTES: JSON.stringify(ROUTES),
  PROXY_TO_BASE_URL: 'http://127.0.0.1:9',
  TOKEN_SECRET: 'a token secret that nothing else here contains',
  BASE_URL: 'https://pay.example/base',
}

const text = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '0',
      '-1',
      '1',
      '1.5',
      '1e3',
      '99999999999999999999',
      'true',
      'TRUE',
      'yes',
      'none',
      'redis',
      'mainnet',
      'testnet',
      'eip155:8453',
      'base,polygon',
      'testnet,arbitrum-sepolia,ours',
      'eip155:999,eip155:84532',
      '50%',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'http://',
      'https://x',
      'http://x:99999',
      'ftp://x',
      'http://u:p@x',
      'https://x/{resourceId}',
      'https://{resourceId}.x',
      'postgres://x',
      'redis://:p@x/99',
      'rediss://x',
      'javascript:alert(1)',
      'http://[::1',
      '//x',
      'http://x#y',
      'http://x?y',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '0x',
      `0x${'1'.repeat(64)}`,
      `0x${'f'.repeat(64)}`,
      `0x${'0'.repeat(64)}`,
      `0x${'a'.repeat(40)}`,
      '-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----',
      'a,b',
      ',',
      'a\nb',
      '$(id)\r\nx',
      '\u2028',
    ),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 2, arbitrary: fc.webUrl({ withQueryParameters: true, withFragments: true }) },
  { weight: 1, arbitrary: fc.nat(100_000).map((length) => `@@long:${length}@@`) },
)
const entry = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...NAMES), text) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom(...NAMES).map((name) => `${name}_FILE`),
      text,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('PLANS'),
      someMutation.map((one) => render(one, [PLANS])),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('ROUTES'),
      someMutation.map((one) => render(one, [ROUTES])),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('NETWORKS'),
      someMutation.map((one) => render(one, [NETWORKS])),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...Object.keys(GOOD)), fc.constant('')) },
)

/** What an operator may write: every fault is one line, and no line repeats a secret. */
export const configurationTarget: Target = {
  name: 'configuration',
  share: 5,
  open: async () =>
    openTarget({
      inputs: fc.array(entry, { maxLength: 5 }),
      check(entries) {
        const changed = entries.map(([name, value]) => [name, expand(value)] as const)
        const env: Record<string, string> = { ...GOOD, ...Object.fromEntries(changed) }
        const { faults, missing, config } = readConfiguration(env, {}, () => fault('ENOENT'))
        for (const line of [...faults, ...missing]) {
          if (line.trim() === '' || /[\r\n]/.test(line)) fault(`not one line: ${JSON.stringify(line)}`)
          if (/^\s+at |\bat .*:\d+:\d+|undefined|\[object /.test(line)) fault(`not for an operator: ${line}`)
          if (line.length > 1000) fault(`a line of ${line.length} characters`)
        }
        const said = faults.join('\n')
        // What is no secret may be repeated, also where the same text is some secret's value.
        const open = Object.entries(env).flatMap(([name, value]) => (isSecret(name) ? [] : [value]))
        for (const [name, value] of Object.entries(env)) {
          const secret = value.trim()
          if (!isSecret(name) || secret.length < 12 || open.some((text) => text.includes(secret))) continue
          // Words for networks stand in our own table.
          if (secret.split(',').every((word) => findNetwork(word.trim()))) continue
          if (said.includes(secret)) fault(`${name} is repeated`)
        }
        if (!config) {
          if (faults.length + missing.length === 0) fault('refused without a reason')
          return missing.length > 0 ? 'missing' : 'refused'
        }
        buildCatalog(config.plans, config.routes)
        discoveryOf(config)
        return 'taken'
      },
    }),
}
