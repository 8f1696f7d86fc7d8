import { randomBytes } from 'node:crypto'
import { confirm, intro, isCancel, note, password, select, text } from '@clack/prompts'
import { chosenNetworks } from '../config/check-networks.ts'
import { networkVariable } from '../config/network-variables.ts'
import type { Configuration } from '../config/read-configuration.ts'
import { variableFault } from '../config/variable-fault.ts'
import { ConfigError } from '../errors.ts'
import { priceFault } from '../protocol/amount.ts'
import { NETWORKS } from '../protocol/networks.ts'
import type { Terminal } from './terminal.ts'

type Values = Record<string, string | readonly unknown[]>
type CheckValues = (values: Values) => Configuration

const WALLETS = `paystile never makes a wallet for you: money must not depend on a key that you have not seen.
Make one in a wallet program, keep its recovery phrase, and give only its address here.
A gas wallet is a second, small one: it holds some ETH for fees, and never USDC.`

const NETWORK_LIST = NETWORKS.map(
  ({ word, name, testnet }) => `${word}: ${name}${testnet ? ', test money' : ''}`,
).join('\n')

/** Asks for everything a server needs, one question at a time; each answer is checked as the server would check it. */
export async function askValues(terminal: Terminal, start: Values, check: CheckValues): Promise<Values> {
  const streams = { input: terminal.input, output: terminal.output }
  const values: Values = { ...start }

  const faultOf = (name: string, value: string | readonly unknown[]): string | undefined =>
    check({ ...values, [name]: value }).faults.find((fault) => {
      // Ignored here: the missing half of a pair is the next question.
      return variableFault(fault).name === name && !fault.includes(' is set without ')
    })
  const known = (name: string): string => (typeof values[name] === 'string' ? (values[name] as string) : '')
  const put = (name: string, value: string) => {
    if (value.trim() === '') delete values[name]
    else values[name] = value.trim()
  }
  async function askText(
    name: string,
    message: string,
    { placeholder = '', needed = false } = {},
  ): Promise<void> {
    const answer = await text({
      ...streams,
      message,
      placeholder,
      initialValue: known(name),
      validate(value = '') {
        if (value.trim() === '') return needed ? 'This is needed.' : undefined
        return faultOf(name, value.trim())
      },
    })
    put(name, given(answer))
  }
  /** An empty answer keeps the current secret, which is never shown. */
  async function askSecret(name: string, message: string, needed = false): Promise<void> {
    const kept = values[name] === undefined ? '' : ' (empty: as it is)'
    const answer = await password({
      ...streams,
      message: `${message}${kept}`,
      validate(value = '') {
        if (value.trim() === '') return needed && kept === '' ? 'This is needed.' : undefined
        return faultOf(name, value.trim())
      },
    })
    if (given(answer).trim() !== '') put(name, given(answer))
  }
  const askOne = async <V extends string>(
    message: string,
    options: Array<{ value: V; label: string }>,
    now?: string,
  ): Promise<V> => {
    const initial = options.find(({ value }) => value === now)?.value
    const asked = { ...streams, message, options, ...(initial !== undefined && { initialValue: initial }) }
    return given(await select<string>(asked)) as V
  }
  /** An existing list is kept or replaced as a whole. */
  const keeps = async (name: string, what: string): Promise<boolean> => {
    const list = values[name]
    if (!Array.isArray(list) || list.length === 0) return false
    return given(await confirm({ ...streams, message: `Keep the saved ${what} (${list.length})?` }))
  }
  const more = async (message: string): Promise<boolean> =>
    given(await confirm({ ...streams, message, initialValue: false }))
  const ask = async (
    message: string,
    placeholder: string,
    fault: (value: string) => string | undefined,
  ): Promise<string> =>
    given(
      await text({
        ...streams,
        message,
        placeholder,
        validate: (value = '') => (value === '' ? 'This is needed.' : fault(value)),
      }),
    )

  async function askPlans(): Promise<void> {
    if (await keeps('PLANS', 'plans')) return
    const plans: unknown[] = []
    do {
      const planId = await ask('Id of the plan', 'basic', (id) =>
        faultOf('PLANS', [...plans, { planId: id, unitAmount: '$1.00' }]),
      )
      const unitAmount = await ask('Its price in dollars', '$1.00', priceFault)
      plans.push({ planId, unitAmount })
    } while (await more('Another plan?'))
    values.PLANS = plans
  }
  const askBackend = (): Promise<void> =>
    askText('PROXY_TO_BASE_URL', 'Base URL of your API', {
      placeholder: 'http://localhost:8080',
      needed: true,
    })
  /** Tokens that the gateway does not sign itself can only be checked by the API that issued them. */
  async function askResource(foreign: boolean): Promise<void> {
    const who = foreign
      ? 'own'
      : await askOne('Who answers calls that bring a token?', [
          { value: 'own', label: 'my own server, which checks the token' },
          { value: 'backend', label: 'this server checks it, and passes the call on to my API' },
        ])
    if (who === 'own') {
      return askText('RESOURCE_ENDPOINT', 'URL of the calls, where {resourceId} is what was bought', {
        placeholder: 'https://api.example.com/v1/{resourceId}',
        needed: true,
      })
    }
    delete values.RESOURCE_ENDPOINT
    await askBackend()
  }
  async function askRoutes(): Promise<void> {
    await askBackend()
    if (await keeps('ROUTES', 'routes')) return
    const routes: unknown[] = []
    do {
      const routeId = await ask('Id of the route', 'weather', () => undefined)
      const method = await askOne(
        'Its method',
        ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((value) => ({ value, label: value })),
      )
      const path = await ask('Its path', '/weather/:city', (value) => {
        return faultOf('ROUTES', [...routes, { routeId, method, path: value, unitAmount: '$0.01' }])
      })
      const unitAmount = await ask('Its price per call in dollars', '$0.01', priceFault)
      routes.push({ routeId, method, path, unitAmount })
    } while (await more('Another route?'))
    values.ROUTES = routes
  }
  async function askNetworks(): Promise<void> {
    const now = known('SVC_NETWORK')
    const plain = ['', 'testnet', 'mainnet'].includes(now)
    const which = await askOne(
      'Which network?',
      [
        { value: 'testnet', label: 'testnet (Base Sepolia): test money' },
        { value: 'mainnet', label: 'mainnet (Base): real money' },
        { value: 'others', label: 'another one, or several' },
      ],
      plain ? now : 'others',
    )
    if (which === 'others') {
      note(NETWORK_LIST, 'Networks', streams)
      if (plain) delete values.SVC_NETWORK
      await askText('SVC_NETWORK', 'Which ones, separated by commas? The first is preferred', {
        placeholder: 'base,polygon',
        needed: true,
      })
    } else values.SVC_NETWORK = which
    // Settings of networks that are no longer chosen would be refused.
    const chains = networks().map(({ chainId }) => chainId)
    for (const name of Object.keys(values)) {
      const own = networkVariable(name)
      if (own && !chains.includes(own.chainId)) delete values[name]
    }
  }
  const networks = () => chosenNetworks(check(values).options)
  async function askSettlement(): Promise<void> {
    const settledByDefault = networks().every(({ facilitatorUrl }) => facilitatorUrl !== null)
    const coins = [...new Set(networks().map(({ native }) => native.symbol))].join(' and ')
    const way = await askOne('Who brings payments to the chain?', [
      ...(settledByDefault
        ? [{ value: 'default' as const, label: 'the default facilitator, which pays the fees' }]
        : []),
      { value: 'other', label: 'another facilitator' },
      { value: 'gas', label: `this server, with a gas wallet of yours that holds ${coins || 'ETH'}` },
    ])
    for (const name of ['FACILITATOR_URL', ...(way === 'gas' ? [] : ['GAS_WALLET_PRIVATE_KEY'])])
      delete values[name]
    if (way === 'gas') return askSecret('GAS_WALLET_PRIVATE_KEY', 'Private key of the gas wallet', true)
    if (way === 'other') return askText('FACILITATOR_URL', 'Its URL', { needed: true })
    if (!networks().some(({ word }) => word === 'base')) return
    await askText('CDP_API_KEY_ID', 'Key id of its operator, Coinbase (CDP)', { needed: true })
    await askSecret('CDP_API_KEY_SECRET', 'The secret of that key', true)
  }

  async function askStore(): Promise<void> {
    const now = values.DATABASE_URL ? 'postgres' : values.REDIS_URL ? 'redis' : 'embedded'
    const store = await askOne(
      'Where are the records of payments kept?',
      [
        { value: 'embedded', label: 'in the data folder: one server' },
        { value: 'postgres', label: 'in Postgres: any number of servers' },
        { value: 'redis', label: 'in Redis: any number of servers' },
      ],
      now,
    )
    if (store !== 'postgres') delete values.DATABASE_URL
    if (store === 'embedded') delete values.REDIS_URL
    if (store === 'embedded') return
    const name = store === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL'
    await askSecret(name, `Its URL, with user and password (${name})`, true)
    await askSecret('SVC_SECRET_KEY', 'The secret that all servers share (empty: a new one is generated)')
    values.SVC_SECRET_KEY ??= randomBytes(32).toString('hex')
  }

  intro('paystile init', streams)
  note(WALLETS, 'Wallets', streams)
  await askNetworks()
  await askText('SVC_WALLET_ADDRESS', 'Address of your wallet, which is paid', {
    placeholder: '0x…',
    needed: true,
  })
  const sold = await askOne('What do you sell?', [
    { value: 'plans', label: 'access for a time, by a token' },
    { value: 'routes', label: 'single calls of an API' },
    { value: 'both', label: 'both' },
  ])
  if (sold !== 'routes') {
    await askPlans()
    const issuer = await askOne('Who issues the tokens?', [
      { value: 'built-in', label: 'this server (a JWT; its secret is generated)' },
      { value: 'api', label: 'an endpoint of mine' },
    ])
    // The server refuses a configuration with two of these.
    const others =
      issuer === 'api' ? ['TOKEN_SECRET', 'TOKEN_PRIVATE_KEY'] : ['ISSUE_TOKEN_API', 'ISSUE_TOKEN_API_SECRET']
    for (const name of others) delete values[name]
    if (issuer === 'api') await askText('ISSUE_TOKEN_API', 'Its URL', { needed: true })
    await askResource(issuer === 'api')
  } else delete values.PLANS
  if (sold !== 'plans') await askRoutes()
  else delete values.ROUTES
  await askSettlement()
  await askSecret(
    'REFUND_WALLET_PRIVATE_KEY',
    'Private key that signs refunds, normally that of your wallet (empty: refunds wait)',
  )
  await askStore()
  await askText('BASE_URL', 'URL at which buyers reach the server (empty: http://localhost:3000)')
  await askText('AGENT_NAME', 'Your name, as buyers see it (empty: paystile)')
  return values
}

function given<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new ConfigError(['Stopped. Nothing was written.'])
  return answer as Exclude<T, symbol>
}
