import { describe, expect, test } from 'vitest'
import { secretOf } from '../webhooks/sign-webhook.ts'
import { optionsFromEnv } from './from-env.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig } from './resolve-config.ts'

const [ONE, TWO] = [secretOf(new Uint8Array(32).fill(1)), secretOf(new Uint8Array(32).fill(2))]
const base: GatewayOptions = {
  walletAddress: `0x${'11'.repeat(20)}`,
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'x'.repeat(64),
}
const mainnet = { ...base, network: 'base', facilitatorUrl: 'https://facilitator.example' }

const check = (more: Record<string, unknown>, on: GatewayOptions = base) =>
  checkConfig({ ...on, ...more } as GatewayOptions)

function fromEnv(env: Record<string, string>) {
  const { options, source } = optionsFromEnv(
    {
      SVC_WALLET_ADDRESS: base.walletAddress!,
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      TOKEN_SECRET: 'x'.repeat(64),
      RESOURCE_ENDPOINT: 'https://api.example/{resourceId}',
      ...env,
    },
    () => '',
  )
  return checkConfig(options, source)
}

describe('endpoints', () => {
  test('come from options, with one secret, two or none', () => {
    const { config, faults } = check({
      webhooks: [
        { url: 'https://a.example/hooks', secret: ONE, events: ['payment.settled'] },
        { url: 'https://b.example/', secret: [ONE, TWO] },
        { url: 'https://c.example/' },
      ],
    })
    expect(faults).toEqual([])
    expect(config?.webhooks).toEqual([
      { url: 'https://a.example/hooks', secrets: [ONE], events: ['payment.settled'] },
      { url: 'https://b.example/', secrets: [ONE, TWO], events: null },
      { url: 'https://c.example/', secrets: [], events: null },
    ])
  })

  test('come from the environment: URLs and secrets in the same order, old|new while one is replaced', () => {
    const { config, faults } = fromEnv({
      WEBHOOK_URL: 'https://a.example/hooks, https://b.example/',
      WEBHOOK_SECRET: `${ONE}|${TWO},${TWO}`,
    })
    expect(faults).toEqual([])
    expect(config?.webhooks.map(({ secrets }) => secrets)).toEqual([[ONE, TWO], [TWO]])
  })

  test('on a private address, or by plain http with real money, are taken if their host is allowed', () => {
    const webhooks = [{ url: 'http://10.0.0.7:8080/' }, { url: 'http://localhost/' }]
    expect(check({ webhooks, webhookAllowHosts: '10.0.0.7:8080, localhost' }, mainnet).faults).toEqual([])
    expect(check({ webhooks: [{ url: 'http://a.example/' }] }).faults).toEqual([])
  })
})

describe('one line says what is wrong, without the URL or the secret', () => {
  test.each<[string, unknown, RegExp]>([
    ['no URL', [{ url: 'nonsense' }], /^webhooks is not a URL, for example https:/],
    ['nothing', [{}], /^webhooks has no url; an endpoint is/],
    [
      'a text',
      'https://me:hunter2@a.example/',
      /^webhooks is a text; it must be a list, for example webhooks: \[\{ url: "https:\/\/example\.com\/hooks" \}\]$/,
    ],
    ['one endpoint', { url: 'https://a.example/' }, /^webhooks is an object; it must be a list, for example/],
    [
      'texts',
      ['https://a.example/'],
      /^webhooks is a text; an endpoint is \{ url: "https:\/\/…", secret: "whsec_…" \}\.$/,
    ],
    [
      'event',
      [{ url: 'https://a.example/', event: [] }],
      /^webhooks has an unknown member "event"; did you mean "events"\?$/,
    ],
    [
      'secrt',
      [{ url: 'https://b.example/' }, { url: 'https://a.example/', secrt: 'hunter2' }],
      /^webhooks \(endpoint 2 of 2\) has an unknown member "secrt"; did you mean "secret"\?$/,
    ],
    [
      'retries',
      [{ url: 'https://a.example/', retries: 3 }],
      /^webhooks has an unknown member "retries"; it may have url, secret, events\.$/,
    ],
    ['a password', [{ url: 'https://me:hunter2@a.example/' }], /^webhooks carries a user name or password/],
    ['ftp', [{ url: 'ftp://a.example/' }], /^webhooks begins with ftp:/],
    [
      'a private address',
      [{ url: 'https://192.168.1.1/' }],
      /^webhooks is a private address.*webhookAllowHosts allows/,
    ],
    ['the cloud’s metadata', [{ url: 'http://169.254.169.254/' }], /is a private address/],
    ['this machine', [{ url: 'https://localhost/' }], /is a private address/],
    ['this machine as a number', [{ url: 'http://2130706433/' }], /is a private address/],
    ['one URL twice', [{ url: 'https://a.example/' }, { url: 'https://a.example/' }], /names one URL twice/],
    [
      'a short secret',
      [{ url: 'https://a.example/', secret: 'hunter2' }],
      /has a secret that does not begin with whsec_/,
    ],
    [
      'an unknown event',
      [{ url: 'https://a.example/', events: ['payment.setled'] }],
      /did you mean "payment.settled"/,
    ],
    ['no events', [{ url: 'https://a.example/', events: [] }], /has an empty list of events/],
  ])('%s', (_what, webhooks, fault) => {
    const { faults } = check({ webhooks })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toMatch(fault)
    expect(faults[0]).not.toMatch(/hunter2|192\.168/)
  })

  test('plain http with real money', () => {
    expect(check({ webhooks: [{ url: 'http://a.example/' }] }, mainnet).faults).toEqual([
      'webhooks is plain http; with real money it must be https, unless webhookAllowHosts allows its host, for example https://example.com/hooks',
    ])
  })

  test('the environment names its variables', () => {
    expect(fromEnv({ WEBHOOK_URL: 'http://127.0.0.1/' }).faults).toEqual([
      'WEBHOOK_URL is a private address, which is not called unless WEBHOOK_ALLOW_HOSTS allows its host, for example WEBHOOK_ALLOW_HOSTS=accounting.internal:8080',
    ])
    expect(fromEnv({ WEBHOOK_SECRET: ONE }).faults).toEqual([
      'WEBHOOK_SECRET is set without a URL, for example WEBHOOK_URL=https://example.com/hooks',
    ])
    expect(
      fromEnv({ WEBHOOK_URL: 'https://a.example,https://b.example', WEBHOOK_SECRET: ONE }).faults,
    ).toEqual([
      'WEBHOOK_SECRET has 1 for 2 URLs; give one per URL in the same order, for example WEBHOOK_SECRET=whsec_…,whsec_…',
    ])
    expect(fromEnv({ WEBHOOK_URL: 'https://a.example', WEBHOOK_SECRET: 'x' }).faults[0]).toMatch(
      /^WEBHOOK_SECRET has a secret that does not begin with whsec_, for example the output of/,
    )
    expect(fromEnv({ WEBHOOK_ALLOW_HOSTS: 'https://a.example/' }).faults[0]).toMatch(
      /^WEBHOOK_ALLOW_HOSTS names no host or host:port, for example/,
    )
  })
})
