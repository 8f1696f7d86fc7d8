import type {
  CheckAnswer,
  Fault,
  FieldCheck,
  NetworkChoice,
  PaymentRequired,
  SetupInput,
  SetupState,
  TooSmall,
} from '../shared/wire.ts'

const SECRETS = [
  'ADMIN_TOKEN',
  'PROXY_SECRET',
  'CDP_API_KEY_SECRET',
  'GAS_WALLET_PRIVATE_KEY',
  'REFUND_WALLET_PRIVATE_KEY',
  'RPC_URL',
  'NETWORKS',
  'DATABASE_URL',
  'REDIS_URL',
  'SVC_SECRET_KEY',
  'TOKEN_SECRET',
  'TOKEN_PRIVATE_KEY',
  'ISSUE_TOKEN_API_SECRET',
  'ALERT_WEBHOOK_URL',
  'WEBHOOK_URL',
  'WEBHOOK_SECRET',
]

const NETWORKS: NetworkChoice[] = (
  [
    ['Base', 'base', ['mainnet'], 8453, '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', false, 'ETH', true],
    [
      'Base Sepolia',
      'base-sepolia',
      ['testnet'],
      84532,
      '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
      true,
      'ETH',
      true,
    ],
    ['Ethereum', 'ethereum', [], 1, '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', false, 'ETH', false],
    ['Polygon', 'polygon', [], 137, '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359', false, 'POL', false],
    [
      'Arbitrum Sepolia',
      'arbitrum-sepolia',
      [],
      421614,
      '0x75faf114eafb1bdbe2f0316df893fd58ce46aa4d',
      true,
      'ETH',
      false,
    ],
  ] as const
).map(([name, word, aliases, chainId, asset, testnet, coin, facilitator]) => ({
  id: `eip155:${chainId}`,
  word,
  aliases: [...aliases],
  name: testnet ? `${name} (test money)` : name,
  chainId,
  asset,
  testnet,
  coin,
  facilitator,
  ...(testnet && { faucet: 'https://faucet.circle.com' }),
}))

export function stateOf(saved: SetupInput | undefined, locked: Record<string, string>): SetupState {
  const isSet = (name: string): boolean => typeof saved?.secrets[name] === 'string' || name in locked
  return {
    configured: saved !== undefined,
    values: { ...saved?.values, ...locked },
    secrets: Object.fromEntries(SECRETS.map((name) => [name, { set: isSet(name) }])),
    locked: Object.keys(locked),
    missing: [],
    faults: [],
    networks: NETWORKS,
  }
}

type Item = {
  planId?: string
  routeId?: string
  unitAmount?: string
  description?: string
  tokenTtlSeconds?: unknown
}

/** A small part of the real checks: enough to see each kind of message at its place. */
export function checkOf({ values, secrets }: SetupInput, saved: SetupInput | undefined): CheckAnswer {
  const faults: Fault[] = []
  const missing: Fault[] = []
  const fields: Record<string, FieldCheck> = {}
  const wallet = String(values.SVC_WALLET_ADDRESS ?? '')
  const plans = (values.PLANS ?? []) as Item[]
  const routes = (values.ROUTES ?? []) as Item[]

  if (wallet === '')
    missing.push({
      name: 'SVC_WALLET_ADDRESS',
      message: 'SVC_WALLET_ADDRESS is missing: the address that receives the USDC.',
    })
  else if (!/^0x[0-9a-fA-F]{40}$/.test(wallet)) {
    const digits = wallet.replace(/^0x/, '').length
    faults.push({
      name: 'SVC_WALLET_ADDRESS',
      message: `SVC_WALLET_ADDRESS has ${digits} hex digits; an address has 40, for example 0x71C7…976F.`,
    })
  } else fields.SVC_WALLET_ADDRESS = { level: 'ok', message: `${wallet} holds 412.34 USDC.` }

  for (const [name, list] of [
    ['PLANS', plans],
    ['ROUTES', routes],
  ] as const) {
    list.forEach((item, index) => {
      const price = item.unitAmount
      if (typeof item.tokenTtlSeconds === 'string') {
        faults.push({
          name,
          message: `${name}[${index}].tokenTtlSeconds is a text; it must be a number of seconds, for example tokenTtlSeconds: 3600.`,
        })
      }
      if (price === undefined)
        faults.push({
          name,
          message: `${name}[${index}] has no unitAmount; for example unitAmount: "$1.00".`,
        })
      else if (!/^\$\d+(\.\d{1,6})?$/.test(price)) {
        faults.push({
          name,
          message: `${name}[${index}].unitAmount "${price}" must be "$" and a decimal number, for example "$0.01".`,
        })
      }
    })
  }
  if (plans.length + routes.length === 0)
    missing.push({ name: 'PLANS', message: 'PLANS or ROUTES: at least one thing to sell.' })
  const has = (name: string): boolean => typeof (secrets[name] ?? saved?.secrets[name]) === 'string'
  if (plans.length > 0 && !['TOKEN_SECRET', 'TOKEN_PRIVATE_KEY'].some(has) && !values.ISSUE_TOKEN_API) {
    missing.push({
      name: 'TOKEN_SECRET',
      message: 'TOKEN_SECRET is missing: plans need a way to make credentials.',
    })
  }
  if (values.PROXY_TO_BASE_URL) {
    fields.PROXY_TO_BASE_URL = {
      level: 'warn',
      message: 'Nothing answers at this address yet (ECONNREFUSED).',
    }
  }
  const preview = faults.length > 0 || wallet === '' ? null : previewOf(wallet, plans[0] ?? routes[0])
  const [, ...further] = String(values.SVC_NETWORK ?? '').split(',')
  for (const word of further) {
    const network = NETWORKS.find((known) => known.word === word)
    if (network)
      fields[`RPC_URL_${network.chainId}`] = { level: 'ok', message: `${network.name} is at block 1234.` }
  }
  const tooSmall = further.includes('ethereum') ? [tooSmallOf(plans, routes)] : []
  return { fields, faults, missing, preview, tooSmall, snippets: snippetsOf(values, secrets) }
}

/** As if gas were dear on Ethereum. */
function tooSmallOf(plans: Item[], routes: Item[]): TooSmall {
  const isSmall = ({ unitAmount }: Item): boolean => Number(unitAmount?.slice(1)) < 4
  return {
    chainId: 1,
    leastAmount: '$4.00',
    planIds: plans.filter(isSmall).map(({ planId }) => planId ?? ''),
    routeIds: routes.filter(isSmall).map(({ routeId }) => routeId ?? ''),
  }
}

function previewOf(payTo: string, item: Item | undefined): PaymentRequired | null {
  if (!item?.unitAmount) return null
  const description = item.description ?? ''
  const challengeId = 'http-AQAAAZqFx0Qm1cW9yV0kq3m2pJ7s8dTzB5nQf6LhXwUe'
  return {
    x402Version: 2,
    error: 'Payment required',
    resource: {
      url: 'http://localhost:3000/x402/access',
      method: 'POST',
      description,
      mimeType: 'application/json',
    },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:84532',
        asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
        amount: String(Math.round(Number(item.unitAmount.slice(1)) * 1e6)),
        payTo,
        maxTimeoutSeconds: 900,
        extra: {
          name: 'USDC',
          version: '2',
          description,
          ...(item.planId !== undefined && { planId: item.planId }),
          ...(item.routeId !== undefined && { routeId: item.routeId }),
          challengeId,
          requestId: '6d0f3d6c-5d7e-4d3b-9a55-0e4c1a0a2b11',
          salt: 'b1c0ffee5eed0000b1c0ffee5eed0000',
        },
      },
    ],
    challengeId,
    requestId: '6d0f3d6c-5d7e-4d3b-9a55-0e4c1a0a2b11',
  }
}

function snippetsOf(values: SetupInput['values'], secrets: SetupInput['secrets']): CheckAnswer['snippets'] {
  const pairs = [
    ...Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
    ...Object.entries(secrets).flatMap(([name, value]) => (value === null ? [] : [[name, '<secret>']])),
  ]
  return {
    env: pairs.map(([name, value]) => `${name}=${value}`).join('\n'),
    dockerRun: [
      'docker run -p 3000:3000',
      ...pairs.map(([name, value]) => `  -e ${name}='${value}'`),
      '  paystile',
    ].join(' \\\n'),
    compose: [
      'services:',
      '  paystile:',
      '    image: paystile',
      '    environment:',
      ...pairs.map(([name, value]) => `      ${name}: '${value}'`),
    ].join('\n'),
  }
}
