import { describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { optionsFromEnv, VARIABLES } from './from-env.ts'
import { checkConfig, resolveConfig } from './resolve-config.ts'

const wallet = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F'
const secret = 'correct-horse-battery-staple-0123456789'
const good = {
  SVC_WALLET_ADDRESS: wallet,
  PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
  TOKEN_SECRET: secret,
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}
const files: Record<string, string> = {
  '/run/secrets/token': `${secret}\n`,
  '/run/secrets/short': 'hunter2\n',
  '/run/secrets/empty': '\n',
}
const readFile = (path: string) => {
  const text = files[path]
  if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
  return text
}
const read = (env: Record<string, string | undefined>) => optionsFromEnv(env, readFile)
function linesOf(env: Record<string, string | undefined>) {
  const { options, source } = read(env)
  const { faults, missing } = checkConfig(options, source)
  return { faults, missing }
}

const routes = '[{"routeId":"r","method":"GET","path":"/r","unitAmount":"$0.01"}]'
const backend = { PROXY_TO_BASE_URL: 'http://backend:8080' }

describe('optionsFromEnv', () => {
  test('the smallest environment is accepted', () => {
    const { options, source, missing, settings } = read(good)
    expect(missing).toEqual([])
    expect(settings.port).toBe(3000)
    expect(resolveConfig(options, source)).toMatchObject({
      networks: [{ walletAddress: wallet.toLowerCase() }],
      baseUrl: 'http://localhost:3000',
      store: { kind: 'embedded', dataDir: './data' },
      credential: { kind: 'hs256', secret },
    })
  })

  test('every variable reaches its option', () => {
    const { options, source, settings } = read({
      ...good,
      PORT: '8080',
      SVC_NETWORK: 'mainnet',
      MAX_GAS_SHARE: '25%',
      AGENT_NAME: 'Weather',
      AGENT_DESCRIPTION: 'All of it',
      RESOURCE_ENDPOINT: 'https://api.example/{resourceId}',
      GAS_WALLET_PRIVATE_KEY: 'ab'.repeat(32),
      REFUND_WALLET_PRIVATE_KEY: 'cd'.repeat(32),
      ALLOWED_WALLET_FACTORIES: `0x${'AB'.repeat(20)}, 0x${'12'.repeat(20)}`,
      RPC_URL: 'https://rpc.example',
      EXPLORER_TX_URL: 'https://scan.example/tx/',
      DATA_DIR: '/data',
      SVC_SECRET_KEY: secret,
      TOKEN_TTL_SECONDS: '60',
      CHALLENGE_TTL_SECONDS: '61',
      SETTLE_WAIT_SECONDS: '62',
      CONFIRMATIONS: '2',
      POLL_INTERVAL_MS: '63',
      REFUND_INTERVAL_SECONDS: '64',
      REFUND_MIN_AGE_SECONDS: '65',
      MAX_BODY_BYTES: '2048',
      MAX_RESOURCE_BYTES: '4096',
      ROUTES: routes,
      PROXY_TO_BASE_URL: 'http://backend:8080/v1/',
      PROXY_SECRET: 's',
      PROXY_TIMEOUT_SECONDS: '67',
      REQUEST_TIMEOUT_SECONDS: '66',
      RATE_LIMIT_PER_MINUTE: '0',
      PAYER_FAILURES_PER_MINUTE: '5',
      PAYER_UNDELIVERED_PER_DAY: '0',
      PAYER_LOST_GAS_PER_DAY: '1000000',
      LOST_GAS_PER_DAY: '0',
      TRUST_PROXY: '1',
    })
    expect(settings.port).toBe(8080)
    expect(resolveConfig(options, source)).toMatchObject({
      networks: [
        {
          network: {
            id: 'eip155:8453',
            rpcUrls: ['https://rpc.example'],
            explorerTxUrl: 'https://scan.example/tx/',
            confirmations: 2,
          },
          settlement: { kind: 'gas-wallet', privateKeys: [`0x${'ab'.repeat(32)}`] },
          refundWalletPrivateKey: `0x${'cd'.repeat(32)}`,
        },
      ],
      maxGasShare: 0.25,
      agentName: 'Weather',
      agentDescription: 'All of it',
      baseUrl: 'http://localhost:8080',
      resourceEndpoint: 'https://api.example/{resourceId}',
      allowedWalletFactories: [`0x${'ab'.repeat(20)}`, `0x${'12'.repeat(20)}`],
      store: { kind: 'embedded', dataDir: '/data' },
      secretKey: { kind: 'given', list: secret },
      tokenTtlSeconds: 60,
      challengeTtlSeconds: 61,
      settleWaitSeconds: 62,
      pollIntervalMs: 63,
      refundIntervalSeconds: 64,
      refundMinAgeSeconds: 65,
      maxBodyBytes: 2048,
      maxResourceBytes: 4096,
      routes: JSON.parse(routes),
      backend: { kind: 'proxy', baseUrl: 'http://backend:8080/v1', secret: 's', timeoutSeconds: 67 },
      requestTimeoutSeconds: 66,
      rateLimitPerMinute: 0,
      payerFailuresPerMinute: 5,
      payerUndeliveredPerDay: 0,
      payerLostGasPerDay: 1_000_000,
      lostGasPerDay: 0,
      trustProxy: true,
    })
  })

  test('missing and faulty variables are reported separately, each with an example', () => {
    expect(read({}).missing).toEqual([
      'SVC_WALLET_ADDRESS is missing; it receives the USDC, for example SVC_WALLET_ADDRESS=0x and 40 hex digits',
      `PLANS or ROUTES is missing; there is nothing to sell yet, for example PLANS='[{"planId":"basic","unitAmount":"$1.00"}]'`,
      'TOKEN_SECRET, TOKEN_PRIVATE_KEY or ISSUE_TOKEN_API is missing; plans need one of them, for example the output of "openssl rand -hex 32" as TOKEN_SECRET',
    ])
    expect(linesOf({}).faults).toEqual([])
  })

  test('a copied example is refused, so that it can never be a real wallet or secret', () => {
    const copied = {
      SVC_WALLET_ADDRESS: '0x and 40 hex digits',
      PLANS: good.PLANS,
      TOKEN_SECRET: 'openssl rand -hex 32',
    }
    expect(linesOf(copied).faults).toHaveLength(2)
  })

  test('an empty or blank variable counts as not set', () => {
    const blank = Object.fromEntries(
      Object.keys(VARIABLES).flatMap((name) => [
        [name, ''],
        [`${name}_FILE`, '  '],
      ]),
    )
    expect(linesOf(blank)).toEqual(linesOf({}))
    expect(linesOf({ ...blank, ...good, PORT: '' })).toEqual({ faults: [], missing: [] })
  })

  test.each<[Record<string, string>, string]>([
    [
      { SVC_WALLET_ADDRESS: wallet.slice(0, -1) },
      'SVC_WALLET_ADDRESS has 39 hex digits; an address has 40, for example 0x71C7…976F.',
    ],
    [{ SVC_NETWORK: 'testnett' }, 'SVC_NETWORK "testnett" is unknown; did you mean "testnet"?'],
    [
      { PLANS: '[{"planId":"a","unitAmount":"$1,000"}]' },
      'PLANS[0].unitAmount "$1,000" must not contain commas',
    ],
    [
      { PLANS: '[{"planId":"a",}]' },
      'PLANS is no valid JSON at line 1, column 16, near "}]"; it must be JSON, for example PLANS=',
    ],
    [
      { PLANS: '[\n {planId: 1}]' },
      'PLANS is no valid JSON at line 2, column 3, near "planId: 1}]"; it must be JSON, for example PLANS=',
    ],
    [
      { PLANS: '[{"planId":"a"' },
      'PLANS is no valid JSON at line 1, column 15, where it ends too early; it must be JSON, for example PLANS=',
    ],
    [{ PLANS: '{}' }, 'PLANS is an object; it must be a list'],
    [{ PLANS: 'null' }, 'PLANS or ROUTES is missing'],
    [{ TOKEN_SECRET: 'hunter2' }, 'TOKEN_SECRET has 7 bytes'],
    [
      { TOKEN_TTL_SECONDS: '1h' },
      'TOKEN_TTL_SECONDS is "1h"; it must be a whole number, for example TOKEN_TTL_SECONDS=3600',
    ],
    [
      { TOKEN_TTL_SECONDS: '0' },
      'TOKEN_TTL_SECONDS is 0; it must be a whole number from 1 to 315360000 (10 years), for example TOKEN_TTL_SECONDS=3600',
    ],
    [{ CONFIRMATIONS: '-1' }, 'CONFIRMATIONS is -1'],
    [{ CONFIRMATIONS: '1.0' }, 'CONFIRMATIONS is "1.0"'],
    [{ TRUST_PROXY: 'yes' }, 'TRUST_PROXY is "yes"; it must be true or false, for example TRUST_PROXY=true'],
    [{ PORT: '80x' }, 'PORT is "80x"; a port is a whole number from 0 to 65535, for example PORT=3000'],
    [{ PORT: '65536' }, 'PORT is "65536"'],
    [{ GAS_WALLET_PRIVATE_KEY: '0x12' }, 'GAS_WALLET_PRIVATE_KEY has 2 hex digits'],
    [
      { ALLOWED_WALLET_FACTORIES: `0x${'12'.repeat(20)},0x12` },
      'ALLOWED_WALLET_FACTORIES (address 2 of 2) has 2 hex digits; an address has 40, for example 0x71C7…976F.',
    ],
    [
      { SVC_NETWORK: 'mainnet' },
      'CDP_API_KEY_ID and CDP_API_KEY_SECRET are not set; the facilitator of mainnet needs them',
    ],
    [{ ISSUE_TOKEN_API: 'https://a.example' }, 'TOKEN_SECRET and ISSUE_TOKEN_API are both set'],
    [
      { DATABASE_URL: 'postgres://u:hunter2@db' },
      'SVC_SECRET_KEY is missing; a store that instances share needs it',
    ],
    [{ REDIS_URL: 'redis://:hunter2@r' }, 'SVC_SECRET_KEY is missing'],
    [
      { SVC_MANAGED_INFRA: 'mysql' },
      'SVC_MANAGED_INFRA is "mysql"; it can be redis, postgres, redis,postgres or none, for example SVC_MANAGED_INFRA=redis',
    ],
    [{ ADMIN_TOKEN: 'hunter2' }, 'ADMIN_TOKEN has 7 characters; it needs at least 16'],
    [{ METRICS_TOKEN: 'hunter2' }, 'METRICS_TOKEN has 7 characters'],
    [{ ADMIN_TOKEN: 'correct\thunter2-battery' }, 'ADMIN_TOKEN has a character that no'],
    [{ METRICS_TOKEN: 'hunter2-of-the-café' }, 'METRICS_TOKEN has a character that no'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud"; it can be trace, debug, info, warn, error, fatal, silent'],
    [{ ALERT_WEBHOOK_URL: 'hooks' }, 'ALERT_WEBHOOK_URL is not a URL, for example'],
    [{ METRICS_PORT: 'x' }, 'METRICS_PORT is "x"; a port is a whole number'],
    [{ METRICS_PORT: '3000' }, 'METRICS_PORT is 3000, as PORT is; choose another'],
    [{ ADMIN_PORT: 'x' }, 'ADMIN_PORT is "x"; a port is a whole number'],
    [{ ADMIN_PORT: '3000' }, 'ADMIN_PORT is 3000, as PORT is; choose another'],
    [{ ADMIN_PORT: '9464', METRICS_PORT: '9464' }, 'METRICS_PORT is 9464, as ADMIN_PORT is; choose another'],
    [
      { ROUTES: routes },
      'PROXY_TO_BASE_URL is missing; routes need the backend that answers them, for example PROXY_TO_BASE_URL=http://',
    ],
    [{ ROUTES: '[{]' }, 'ROUTES is no valid JSON at'],
    [{ PROXY_TO_BASE_URL: 'backend:8080' }, 'PROXY_TO_BASE_URL begins with backend:; it must be an http or'],
    [{ PROXY_TO_BASE_URL: 'http://localhost:3000/x' }, 'PROXY_TO_BASE_URL is the gateway itself'],
    [
      { PROXY_SECRET: 'hunter2', ROUTES: routes },
      'PROXY_TO_BASE_URL is missing; it says where the backend is',
    ],
    [
      { PROXY_SECRET: 'hunter2', RESOURCE_ENDPOINT: '' },
      'RESOURCE_ENDPOINT or PROXY_TO_BASE_URL is missing; plans need somebody who answers their tokens',
    ],
    [{ PROXY_TIMEOUT_SECONDS: '0' }, 'PROXY_TIMEOUT_SECONDS is 0; it must be a whole number from 1 to 240'],
    [
      { ...backend, PROXY_TIMEOUT_SECONDS: '0' },
      'PROXY_TIMEOUT_SECONDS is 0; it must be a whole number from 1 to 240',
    ],
    [
      { ...backend, PROXY_TIMEOUT_SECONDS: 'soon' },
      'PROXY_TIMEOUT_SECONDS is "soon"; it must be a whole number, for example PROXY_TIMEOUT_SECONDS=30',
    ],
    [{ PROXY_TO_BASE_URL_FILE: '/nope', ROUTES: routes }, 'PROXY_TO_BASE_URL_FILE names /nope, which cannot'],
    [
      { MCP_ENABLED: 'maybe' },
      'MCP_ENABLED is "maybe"; it must be true or false, for example MCP_ENABLED=true',
    ],
    // files
    [{ TOKEN_SECRET: '', TOKEN_SECRET_FILE: '/run/secrets/short' }, 'TOKEN_SECRET_FILE has 7 bytes'],
    [
      { TOKEN_SECRET: '', TOKEN_SECRET_FILE: '/nope' },
      'TOKEN_SECRET_FILE names /nope, which cannot be read (ENOENT).',
    ],
    [
      { TOKEN_SECRET: '', TOKEN_SECRET_FILE: '/run/secrets/empty' },
      'TOKEN_SECRET_FILE names /run/secrets/empty, which is empty.',
    ],
    [
      { TOKEN_SECRET_FILE: '/run/secrets/token' },
      'TOKEN_SECRET and TOKEN_SECRET_FILE are both set; keep one.',
    ],
    [{ DATABASE_URL_FILE: '/nope' }, 'DATABASE_URL_FILE names /nope, which cannot be read'],
    [{ PORT_FILE: '/nope' }, 'PORT_FILE names /nope, which cannot be read (ENOENT).'],
  ])('%j is one line', (change, line) => {
    const { faults, missing } = linesOf({ ...good, ...change })
    expect([...missing, ...faults]).toEqual([expect.stringContaining(line)])
    expect(faults.join()).not.toContain('hunter2')
  })

  test('a variable that is set but unreadable is faulty, not missing', () => {
    expect(read({ ...good, PLANS: '[' }).missing).toEqual([])
    expect(read({ ...good, SVC_WALLET_ADDRESS: '', SVC_WALLET_ADDRESS_FILE: '/nope' }).missing).toEqual([])
  })

  test.each([
    '[',
    '{}',
    '[{"routeId":"w","method":"GET","path":"/w"}]',
    '[{"routeId":"w","method":"GET","path":"w","unitAmount":"$1"}]',
    '[{"routeId":"w","method":"FETCH","path":"/w","unitAmount":"$1"}]',
  ])('wrong ROUTES %s are one fault, and none about plans', (ROUTES) => {
    const { PLANS: _plans, TOKEN_SECRET: _secret, ...others } = good as Record<string, string>
    const { faults, missing } = linesOf({ ...others, ROUTES, PROXY_TO_BASE_URL: 'http://localhost:8080' })
    expect([...missing, ...faults]).toEqual([expect.stringMatching(/^ROUTES/)])
  })

  test('values that switch something off are accepted', () => {
    const later = {
      SVC_MANAGED_INFRA: 'none',
      ROUTES: '[]',
      MCP_ENABLED: 'false',
      A2A_ENABLED: '0',
      A2A_STREAMING: 'true',
    }
    expect(linesOf({ ...good, ...later })).toEqual({ faults: [], missing: [] })
  })

  test('a secret read from a file loses its last line break', () => {
    const { options, source } = read({
      ...good,
      TOKEN_SECRET: undefined,
      TOKEN_SECRET_FILE: '/run/secrets/token',
    })
    expect(resolveConfig(options, source).credential).toEqual({ kind: 'hs256', secret })
  })

  test.each([
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('TRUST_PROXY=%s is %s', (text, flag) => {
    expect(read({ ...good, TRUST_PROXY: text }).options.trustProxy).toBe(flag)
  })

  test('a PEM may have its line breaks written as \\n', () => {
    expect(
      read({ TOKEN_PRIVATE_KEY: '-----BEGIN X-----\\nabc\\n-----END X-----' }).options.tokenPrivateKey,
    ).toBe('-----BEGIN X-----\nabc\n-----END X-----')
  })

  test('one error has all faults and everything that is missing', () => {
    const { options, source } = read({ PLANS: '[', TOKEN_TTL_SECONDS: 'x', SVC_NETWORK: 'moon', PORT: 'y' })
    expect(() => resolveConfig(options, source)).toThrow(ConfigError)
    const { faults, missing } = checkConfig(options, source)
    expect([...missing, ...faults].map((line) => line.split(' ')[0])).toEqual([
      'SVC_WALLET_ADDRESS',
      'TOKEN_SECRET,',
      'PORT',
      'PLANS',
      'TOKEN_TTL_SECONDS',
      'SVC_NETWORK',
    ])
  })
})
