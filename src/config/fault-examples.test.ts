import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { savedFault } from './config-file.ts'
import { optionsFromEnv, VARIABLES } from './from-env.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig } from './resolve-config.ts'

const PLANS = '[{"planId":"basic","unitAmount":"$1.00"}]'
const good = {
  SVC_WALLET_ADDRESS: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  PLANS,
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}
const readNoFile = (path: string) => {
  throw new Error(`no ${path}`)
}

function faultsOf(env: Record<string, string | undefined>): string[] {
  const { options, source } = optionsFromEnv({ ...good, ...env }, readNoFile)
  return checkConfig(options, source).faults
}

const pem = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const foreignPem = () =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** A text that cannot be read as a value of this kind. */
const UNREADABLE: Record<string, string> = {
  'whole number': 'abc',
  number: 'abc',
  flag: 'maybe',
  JSON: '[{"planId":"a"',
  'secret JSON': '[{"id":',
}

const unreadable = Object.entries(VARIABLES).flatMap(([name, { kind }]) =>
  UNREADABLE[kind] ? [[name, UNREADABLE[kind]] as const] : [],
)

describe('a bad value is one line with its variable and a good example', () => {
  test.each<readonly [name: string, text: string]>([
    ...unreadable,
    ['CONFIRMATIONS_84532', 'abc'],
    ['NATIVE_USD_84532', 'abc'],
    ['SETTLER_CONTRACT_84532', 'maybe'],
    ['SVC_WALLET_ADDRESS', '71C7656EC7ab88b098defB751B7401B5f6d8976F'],
    ['SVC_WALLET_ADDRESS', '0x12'],
    ['SVC_WALLET_ADDRESS', `0x${'z'.repeat(40)}`],
    ['SVC_WALLET_ADDRESS', `0x${'0'.repeat(40)}`],
    ['SVC_WALLET_ADDRESS', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'],
    ['ALLOWED_WALLET_FACTORIES', '0x12'],
    ['GAS_WALLET_PRIVATE_KEY', '0x12'],
    ['GAS_WALLET_PRIVATE_KEY', `0x${'12'.repeat(20)}`],
    ['GAS_WALLET_PRIVATE_KEY', `0x${'z'.repeat(64)}`],
    ['REFUND_WALLET_PRIVATE_KEY', `0x${'0'.repeat(64)}`],
    ['PLANS', '["basic"]'],
    ['PLANS', '[{"planId":"a","unitAmount":"$1.00","tokenTtlSeconds":999999999999}]'],
    ['NETWORKS', '["gnosis"]'],
    ['SVC_MANAGED_INFRA', 'mysql'],
    ['PROXY_TO_BASE_URL', 'http://localhost:3000'],
    ['WEBHOOK_URL', 'http://10.0.0.1/hooks'],
  ])('%s=%s', (name, text) => {
    const faults = faultsOf({ [name]: text })
    expect(faults).toEqual([expect.stringMatching(/^[^\n]*, for example [^\n]+$/)])
    expect(faults[0]!.startsWith(name)).toBe(true)
  })

  test('webhooks without https where there is real money, and too few secrets', () => {
    const lines = [
      ...faultsOf({
        ...{ SVC_NETWORK: 'base', GAS_WALLET_PRIVATE_KEY: `0x${'12'.repeat(32)}` },
        WEBHOOK_URL: 'http://shop.example/hooks',
      }),
      ...faultsOf({ WEBHOOK_URL: 'https://a.example,https://b.example', WEBHOOK_SECRET: 'whsec_one' }),
    ]
    expect(lines).toEqual([
      expect.stringMatching(/^WEBHOOK_URL is plain http.*, for example https:/),
      expect.stringMatching(/^WEBHOOK_SECRET has 1 for 2 URLs.*, for example WEBHOOK_SECRET=whsec_/),
    ])
  })

  test.each([
    ['of another type', foreignPem],
    ['too short', () => pem(1024)],
  ])('a token key that is %s', (_how, make) => {
    expect(faultsOf({ TOKEN_SECRET: undefined, TOKEN_PRIVATE_KEY: make() })).toEqual([
      expect.stringMatching(/^TOKEN_PRIVATE_KEY .*, for example the output of: openssl genpkey /),
    ])
  })

  test.each<[Record<string, unknown>, string]>([
    [{ a2a: 'yes' }, 'for example a2a: true'],
    [{ mcp: { routes: 'all' } }, 'for example mcp.routes: true'],
    [{ trustProxy: 'yes' }, 'for example trustProxy: true'],
    [{ shopWindow: 'yes' }, 'for example shopWindow: true'],
    [{ shopWindow: { name: 1 } }, 'for example shopWindow.name: "Acme Weather"'],
    [{ network: [1] }, 'for example network: "base"'],
  ])('as an option: %j', (change, example) => {
    const options = {
      walletAddress: good.SVC_WALLET_ADDRESS,
      plans: JSON.parse(PLANS),
      tokenSecret: good.TOKEN_SECRET,
      ...change,
    } as unknown as GatewayOptions
    expect(checkConfig(options, {}).faults).toEqual([expect.stringContaining(`, ${example}`)])
  })

  test('what was saved: a list that is none', () => {
    expect(savedFault('PLANS', 'x')).toBe(`is a text; it must be a list, for example ${PLANS}`)
  })
})

test('no example can be taken for an address or a key', () => {
  const lines = [...faultsOf({ SVC_WALLET_ADDRESS: '0x12' }), ...faultsOf({ GAS_WALLET_PRIVATE_KEY: '0x12' })]
  for (const line of lines) {
    const example = /for example (?:\w+=)?(\S+?)\.?$/.exec(line)![1]!
    expect(faultsOf({ SVC_WALLET_ADDRESS: example })).not.toEqual([])
    expect(faultsOf({ GAS_WALLET_PRIVATE_KEY: example })).not.toEqual([])
  }
})
