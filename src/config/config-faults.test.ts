import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import type { Store } from '../ports.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig, resolveConfig } from './resolve-config.ts'

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
const weakPem = rsa(1024)
const ecPem = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { format: 'pem', type: 'pkcs8' },
  publicKeyEncoding: { format: 'pem', type: 'spki' },
})
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
const faultsOf = (change: Record<string, unknown>) => {
  const { faults, missing } = checkConfig(withChange(change))
  return [...missing, ...faults]
}
const plan = (change: Record<string, unknown>) => ({
  plans: [{ planId: 'basic', unitAmount: '$1.00', ...change }],
})
const computed = (change: Record<string, unknown>) => ({
  routes: [
    { ...route, unitAmount: undefined, priceFrom: 'http://a.example/price', maxAmount: '$1.00', ...change },
  ],
})

describe('one fault, one line', () => {
  test.each<[Record<string, unknown>, string]>([
    // agents
    [
      { a2a: 'yes' },
      'a2a is a text; it must be true, false, or an object with streaming, transferProofs, for example a2a: true',
    ],
    [{ a2a: { stream: true } }, 'a2a.stream is not an option; a2a has streaming, transferProofs.'],
    [
      { mcp: { routes: 'all' } },
      'mcp.routes is a text; it must be true or false, for example mcp.routes: true',
    ],
    [{ documents: 1 }, 'documents is a number; it must be true or false, for example documents: true'],
    [{ contactEmail: 'acme.example' }, 'contactEmail is not an email address, for example contactEmail: '],
    [{ contactEmail: 'Acme <a@acme.example>' }, 'contactEmail is not an email address'],
    [{ contactEmail: 'a@localhost' }, 'contactEmail is not an email address'],
    [{ contactEmail: 7 }, 'contactEmail is a number; it must be a text.'],
    [{ provider: 'ACME' }, 'provider must be { organization, url }'],
    [{ provider: { organization: 'ACME', url: 'acme' } }, 'provider must be { organization, url }'],
    // wallet
    [
      { walletAddress: undefined },
      'walletAddress is missing; it receives the USDC, for example walletAddress: "0x and 40',
    ],
    [{ walletAddress: '' }, 'walletAddress is missing'],
    [{ walletAddress: 42 }, 'walletAddress is a number; it must be a text.'],
    [
      { walletAddress: wallet.slice(0, -1) },
      'walletAddress has 39 hex digits; an address has 40, for example 0x71C7…976F.',
    ],
    [{ walletAddress: `${wallet}0` }, 'walletAddress has 41 hex digits'],
    [{ walletAddress: wallet.slice(2) }, 'walletAddress does not begin with 0x'],
    [{ walletAddress: 'vitalik.eth' }, 'walletAddress does not begin with 0x'],
    [{ walletAddress: wallet.replace('71C', '71G') }, 'walletAddress has "G" at position 5'],
    [{ walletAddress: wallet.replace('71C', '71c') }, 'walletAddress does not match its checksum'],
    [{ walletAddress: `0x${'0'.repeat(40)}` }, 'walletAddress is the zero address'],
    [
      { walletAddress: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' },
      'walletAddress is the USDC contract itself',
    ],
    // network
    [{ network: 'mainet' }, 'network "mainet" is unknown; did you mean "mainnet"?'],
    [
      { network: 'eip155:5' },
      'network "eip155:5" is unknown; it can be base, mainnet, base-sepolia, testnet, ethereum, polygon,',
    ],
    [{ network: 84532 }, 'network is a number'],
    // prices: SAFETY 25
    [plan({ unitAmount: '$0.0000001' }), 'plans[0].unitAmount "$0.0000001" has more than 6 decimals'],
    [plan({ unitAmount: '$1,000' }), 'plans[0].unitAmount "$1,000" must not contain commas'],
    [plan({ unitAmount: '1.00' }), 'plans[0].unitAmount "1.00" must start with "$", for example "$1.00".'],
    [plan({ unitAmount: '$0' }), 'plans[0].unitAmount "$0" must be more than zero'],
    [plan({ unitAmount: '$0.000000' }), 'must be more than zero'],
    [plan({ unitAmount: '$-1' }), 'must not carry a sign'],
    [plan({ unitAmount: '$ 1' }), 'must not contain blanks'],
    [plan({ unitAmount: '$1e3' }), 'must be "$" and a decimal number'],
    [plan({ unitAmount: '$' }), 'must be "$" and a decimal number'],
    [plan({ unitAmount: 1 }), 'plans[0].unitAmount is a number; it must be a text, for example'],
    [plan({ unitAmount: undefined }), 'plans[0] has no unitAmount; for example unitAmount: "$1.00".'],
    // plans
    [{ plans: undefined }, 'plans or routes is missing; there is nothing to sell yet, for example plans: ['],
    [{ plans: [] }, 'plans or routes is missing'],
    [{ plans: {} }, 'plans is an object; it must be a list'],
    [
      { plans: ['basic'] },
      'plans[0] is a text; it must be an object, for example {"planId":"basic","unitAmount":"$1.00"}.',
    ],
    [plan({ planId: 'a b' }), 'plans[0].planId "a b" must be 1 to 128 characters'],
    [plan({ planId: '' }), 'plans[0].planId ""'],
    [plan({ price: '$1.00' }), 'plans[0] has an unknown member "price"; did you mean "unitAmount"?'],
    [plan({ unitAmont: '$1.00' }), 'plans[0] has an unknown member "unitAmont"; did you mean "unitAmount"?'],
    [plan({ colour: 'red' }), 'plans[0] has an unknown member "colour"; it may have planId, unitAmount'],
    [plan({ tokenTtlSeconds: 0 }), 'plans[0].tokenTtlSeconds 0'],
    [
      plan({ tokenTtlSeconds: 1e15 }),
      'plans[0].tokenTtlSeconds is 1000000000000000; it may be at most 315360000',
    ],
    // credits
    ...[0, -1, 1e18].map((credits): [Record<string, unknown>, string] => [
      plan({ credits }),
      `plans[0].credits ${credits} must be a whole number from 1 to 1000000000, for example 1000.`,
    ]),
    [
      plan({ credits: 1.5 }),
      'plans[0].credits is 1.5; it must be a whole number, for example credits: 1000.',
    ],
    [
      plan({ credits: '50' }),
      'plans[0].credits is a text; it must be a whole number from 1 to 1000000000, for example credits: 1000.',
    ],
    [{ routes: [{ ...route, credits: 0 }] }, 'routes[0].credits 0 must be a whole number from 1 to'],
    [{ routes: [{ ...route, credits: '1' }] }, 'routes[0].credits is a text; it must be a whole number'],
    [
      { routes: [{ ...route, unitAmount: undefined, free: true, credits: 1 }] },
      'routes[0] has both free: true and credits; keep one',
    ],
    [
      { ...plan({ credits: 50 }), tokenSecret: undefined, fetchResourceCredentials: () => 'x' },
      'plans[0].credits: plan basic grants credits, which are spent with the built-in token, and fetchResourceCredentials makes another. Set tokenSecret or tokenPrivateKey instead',
    ],
    [
      { ...plan({ credits: 50 }), tokenSecret: undefined, issueTokenApi: 'https://a.example/issue' },
      'plans[0].credits: plan basic grants credits, which are spent with the built-in token, and issueTokenApi makes another.',
    ],
    // computed prices
    [computed({ maxAmount: undefined }), 'routes[0] has no maxAmount for its computed price'],
    [computed({ unitAmount: () => '$1', priceFrom: undefined, maxAmount: undefined }), 'has no maxAmount'],
    [computed({ priceFrom: undefined }), 'routes[0] has no priceFrom for its maxAmount'],
    [computed({ unitAmount: '$0.01' }), 'routes[0] has both unitAmount and priceFrom; keep one'],
    [
      computed({ unitAmount: '$0.01', priceFrom: undefined }),
      'has a maxAmount, but its price is not computed',
    ],
    [computed({ free: true }), 'routes[0] has both free: true and priceFrom; keep one'],
    [
      computed({ unitAmount: 5, priceFrom: undefined }),
      'routes[0].unitAmount is a number; it must be a text',
    ],
    [computed({ maxAmount: '$0' }), 'routes[0].maxAmount "$0" must be more than zero'],
    [computed({ maxAmount: 1 }), 'routes[0].maxAmount is a number; it must be a text, for example'],
    [computed({ priceFrom: 8080 }), 'routes[0].priceFrom is a number; it must be a text, for example'],
    [computed({ priceFrom: 'price' }), 'routes[0].priceFrom is not a URL, for example priceFrom: "http'],
    [computed({ priceFrom: 'ftp://a.example' }), 'routes[0].priceFrom begins with ftp:; it must be an http'],
    [computed({ priceFrom: 'http://u:p@a.example' }), 'routes[0].priceFrom carries a user name or password'],
    [{ plans: [good.plans![0], good.plans![0]] }, 'plans has the planId "basic" more than once'],
    // routes
    [{ routes: [{ ...route, unitAmount: undefined }] }, 'routes[0] has no unitAmount; give a price'],
    [{ routes: [{ ...route, free: true }] }, 'routes[0] has both free: true and a unitAmount'],
    [{ routes: [{ ...route, method: 'FETCH' }] }, 'routes[0].method "FETCH"'],
    [{ routes: [{ ...route, path: 'r' }] }, 'routes[0].path "r" must start with "/"'],
    [{ routes: [route, { ...route, path: '/s' }] }, 'routes has the routeId "r" more than once'],
    [
      { routes: [route, { ...route, routeId: 's' }] },
      'routes has the method and path "GET /r" more than once',
    ],
    // credential step
    [
      { tokenSecret: undefined },
      'tokenSecret, tokenPrivateKey, fetchResourceCredentials or issueTokenApi is missing',
    ],
    [{ tokenSecret: 'short' }, 'tokenSecret has 5 bytes; HS256 needs at least 32'],
    [{ issueTokenApi: 'https://a.example' }, 'tokenSecret and issueTokenApi are both set; keep one'],
    [{ issueTokenApiSecret: 's' }, 'issueTokenApiSecret is set without issueTokenApi'],
    [
      { tokenSecret: '', issueTokenApi: 'a.example' },
      'issueTokenApi is not a URL, for example issueTokenApi: "https://',
    ],
    [
      { tokenSecret: '', fetchResourceCredentials: 'f' },
      'fetchResourceCredentials is a text; it must be a function.',
    ],
    [
      { tokenSecret: '', tokenPrivateKey: secret },
      'tokenPrivateKey is no unencrypted RSA private key in PEM',
    ],
    [
      { tokenSecret: '', tokenPrivateKey: pem.publicKey },
      'tokenPrivateKey is no unencrypted RSA private key',
    ],
    [{ tokenSecret: '', tokenPrivateKey: weakPem.privateKey }, 'tokenPrivateKey has 1024 bits'],
    [{ tokenSecret: '', tokenPrivateKey: ecPem.privateKey }, 'tokenPrivateKey is of type ec'],
    [
      { tokenSecret: '', tokenPrivateKey: [pem.privateKey, 'x'] },
      'tokenPrivateKey (key 2 of 2) cannot be read',
    ],
    [{ tokenSecret: '', tokenPrivateKey: 7 }, 'tokenPrivateKey must be a text or a list of texts'],
    // settlement
    [
      { gasWalletPrivateKey: key.slice(0, -1) },
      'gasWalletPrivateKey has 63 hex digits; a private key has 64, for example 0x4c08…2318.',
    ],
    [
      { gasWalletPrivateKey: wallet },
      'gasWalletPrivateKey has 40 hex digits, like an address; a private key has 64, for example 0x4c08…2318.',
    ],
    [{ gasWalletPrivateKey: `${key},${key.slice(2)}` }, 'gasWalletPrivateKey (key 2 of 2) is there twice'],
    [
      { gasWalletPrivateKey: [key, 'nonsense'] },
      'gasWalletPrivateKey (key 2 of 2) has a character that is no hex digit',
    ],
    [{ gasWalletPrivateKey: `0x${'0'.repeat(64)}` }, 'gasWalletPrivateKey is no valid private key'],
    [{ gasWalletPrivateKey: `0x${'f'.repeat(64)}` }, 'gasWalletPrivateKey is no valid private key'],
    [{ gasWalletPrivateKey: [] }, 'gasWalletPrivateKey must be a text or a list of texts'],
    [
      { gasWalletPrivateKey: key, facilitatorUrl: 'https://f.example' },
      'facilitatorUrl and gasWalletPrivateKey are both set',
    ],
    [{ facilitatorUrl: 'ftp://f.example' }, 'facilitatorUrl begins with ftp:'],
    [
      { refundWalletPrivateKey: '0x12' },
      'refundWalletPrivateKey has 2 hex digits; a private key has 64, for example 0x4c08…2318.',
    ],
    [
      { network: 'mainnet' },
      'cdpApiKeyId and cdpApiKeySecret are not set; the facilitator of mainnet needs them',
    ],
    [
      { facilitatorUrl: 'https://api.cdp.coinbase.com/platform/v2/x402' },
      'cdpApiKeyId and cdpApiKeySecret are not set',
    ],
    [{ cdpApiKeyId: 'id' }, 'cdpApiKeyId is set without cdpApiKeySecret'],
    [{ cdpApiKeySecret: 's' }, 'cdpApiKeySecret is set without cdpApiKeyId'],
    [
      { cdpApiKeyId: 'i', cdpApiKeySecret: 's', createAuthHeaders: nothing },
      'createAuthHeaders and cdpApiKeyId are both set',
    ],
    [{ createAuthHeaders: {} }, 'createAuthHeaders is an object; it must be a function.'],
    // places
    [{ baseUrl: 'localhost:3000' }, 'baseUrl begins with localhost:; it must be an http or https URL'],
    [{ baseUrl: 'https://a.example/?x=1' }, 'baseUrl has a part after "?"'],
    [{ baseUrl: 'https://a.example/#x' }, 'baseUrl has a part after "#"'],
    [{ rpcUrl: 'wss://rpc.example' }, 'rpcUrl begins with wss:'],
    [{ rpcUrl: 'https://user:pass@rpc.example' }, 'rpcUrl carries a user name or password'],
    [{ explorerTxUrl: 'scan' }, 'explorerTxUrl is not a URL'],
    [{ resourceEndpoint: '/r/{resourceId}' }, 'resourceEndpoint is not a URL'],
    [{ resourceEndpoint: 'https://a.example/{planId}' }, 'resourceEndpoint may have no other placeholder'],
    [{ resourceEndpoint: 'https://a.example/{resourceId' }, 'resourceEndpoint may have no other placeholder'],
    [{ resourceEndpoint: 'https://{resourceId}.example/' }, 'resourceEndpoint has {resourceId} in its host'],
    [{ resourceEndpoint: 'https://a.example:8{resourceId}/' }, 'resourceEndpoint is not a URL'],
    [{ trustProxy: 'yes' }, 'trustProxy is a text; it must be true or false, for example trustProxy: true'],
    // store and secret
    [{ store: 'redis' }, 'store is a text that is no store'],
    [{ store: { dataDir: '' } }, 'store is an object that is no store'],
    [{ store: { dataDir: 'd', mode: 1 } }, 'store is an object that is no store'],
    [
      { store: 'memory', network: 'mainnet', gasWalletPrivateKey: key },
      'store is in memory and forgets who has paid',
    ],
    [
      { store: customStore('memory'), secretKey: secret, network: 'eip155:8453', gasWalletPrivateKey: key },
      'store is in memory and forgets who has paid',
    ],
    [{ store: customStore('mine') }, 'secretKey is missing; a store that instances share needs it'],
    [{ secretKey: 'short' }, 'secretKey has 5 characters; a key has at least 32'],
    [{ secretKey: `${secret},short` }, 'secretKey (key 2 of 2) has 5 characters'],
    [{ secretKey: `${secret}, ${secret}` }, 'secretKey (key 2 of 2) is there twice'],
    [
      { databaseUrl: 'mysql://x', secretKey: secret },
      'databaseUrl is not a URL of its kind, for example postgres://',
    ],
    [
      { redisUrl: 'localhost:6379', secretKey: secret },
      'redisUrl is not a URL of its kind, for example redis://',
    ],
    [{ databaseUrl: 'postgres://u@h/d' }, 'secretKey is missing; a store that instances share needs it'],
    [
      { databaseUrl: 'postgres://u@h/d', secretKey: secret, store: 'memory' as const },
      'store and databaseUrl are both given; records live in one place',
    ],
    // limits and hooks
    [
      { challengeTtlSeconds: 0 },
      'challengeTtlSeconds is 0; it must be a whole number from 1 to 86400 (1 day), for example challengeTtlSeconds: 900',
    ],
    [{ challengeTtlSeconds: '900' }, 'challengeTtlSeconds is a text; it must be a whole number'],
    [{ tokenTtlSeconds: 1.5 }, 'tokenTtlSeconds is 1.5'],
    [{ tokenTtlSeconds: 1e12 }, 'tokenTtlSeconds is 1000000000000'],
    [{ confirmations: 0 }, 'confirmations is 0'],
    [{ settleWaitSeconds: -1 }, 'settleWaitSeconds is -1'],
    [{ rateLimitPerMinute: Number.NaN }, 'rateLimitPerMinute is NaN'],
    [{ pollIntervalMs: 0 }, 'pollIntervalMs is 0'],
    [{ refundIntervalSeconds: 0 }, 'refundIntervalSeconds is 0'],
    [{ refundMinAgeSeconds: -1 }, 'refundMinAgeSeconds is -1'],
    [{ maxBodyBytes: 1 }, 'maxBodyBytes is 1'],
    [{ requestTimeoutSeconds: 0 }, 'requestTimeoutSeconds is 0'],
    [{ onPaymentReceived: 'x' }, 'onPaymentReceived is a text; it must be a function.'],
    [{ onRefund: 1 }, 'onRefund is a number'],
    [{ onAlert: [] }, 'onAlert is a list'],
    [{ agentName: 1 }, 'agentName is a number'],
    // unknown options
    [{ walletAdress: wallet }, 'walletAdress is not an option; did you mean "walletAddress"?'],
    [{ WALLETADDRESS: wallet }, 'WALLETADDRESS is not an option; did you mean "walletAddress"?'],
    [{ frobnicate: 1 }, 'frobnicate is not an option.'],
  ])('%j', (change, line) => {
    const faults = faultsOf(change)
    expect(faults).toEqual([expect.stringContaining(line)])
    expect(faults[0]).not.toContain('\n')
  })

  test.each([null, undefined, 'x', []])('options that are %j never crash', (options) => {
    expect(() => resolveConfig(options as unknown as GatewayOptions)).toThrow(ConfigError)
  })
})
