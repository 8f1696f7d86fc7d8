import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { expect, test } from 'vitest'
import { runCli } from '../../src/cli/run-cli.ts'
import { cli } from './cli-terminal.ts'
import { sitDown } from './person.ts'
import { eventually } from './world.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ENTER = '\r'
const DOWN = '\u001b[B'

test('init asks one thing after the other, checks each answer, and never shows a key', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  const key = generatePrivateKey()
  try {
    const person = sitDown({ DATA_DIR: dataDir })
    const done = runCli(person.terminal, ['init'])
    const { answer } = person
    await answer('Which network?', ENTER)
    await answer('Address of your wallet', '0x12', ENTER)
    await answer('has 2 hex digits; an address has 40, for example 0x71C7…976F.', '\b\b\b\b', WALLET, ENTER)
    await answer('What do you sell?', ENTER)
    await answer('Id of the plan', 'basic', ENTER)
    await answer('Its price in dollars', '1.00', ENTER)
    await answer('must start with "$"', '\b\b\b\b', '$1.00', ENTER)
    await answer('Another plan?', ENTER)
    await answer('Who issues the tokens?', ENTER)
    await answer('Who answers calls that bring a token?', ENTER)
    await answer('URL of the calls', 'https://api.example.com/v1/{resourceId}', ENTER)
    await answer('Who brings payments to the chain?', DOWN, DOWN, ENTER)
    await answer('Private key of the gas wallet', key, ENTER)
    await answer('Private key that signs refunds', ENTER)
    await answer('Where are the records of payments kept?', ENTER)
    await answer('URL at which buyers reach the server', ENTER)
    await answer('Your name, as buyers see it', 'Ada', ENTER)
    expect(await done).toBe(0)
    await eventually(() => person.seen().includes('paystile doctor'))
    expect(person.seen()).toContain('Generated, and only there: TOKEN_SECRET, ADMIN_TOKEN.')
    expect(person.seen()).not.toContain(key.slice(2))
    const { values } = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8'))
    expect(values).toEqual({
      SVC_NETWORK: 'testnet',
      SVC_WALLET_ADDRESS: WALLET,
      PLANS: [{ planId: 'basic', unitAmount: '$1.00' }],
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
      GAS_WALLET_PRIVATE_KEY: key,
      AGENT_NAME: 'Ada',
      TOKEN_SECRET: expect.stringMatching(/^[0-9a-f]{64}$/),
      ADMIN_TOKEN: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('init again offers what is saved, and sells from Postgres', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  const env = { DATA_DIR: dataDir }
  const plans = '[{"planId":"basic","unitAmount":"$1.00"}]'
  try {
    const flags = ['--wallet', WALLET, '--plans', plans]
    const unserved = await cli(env, 'init', '--json', ...flags)
    expect(JSON.parse(unserved.output), 'somebody must answer the tokens').toMatchObject({ ok: false })
    expect(unserved.output).toContain('RESOURCE_ENDPOINT or PROXY_TO_BASE_URL is missing')
    const first = await cli(env, 'init', '--json', ...flags, '--backend', 'http://localhost:8080')
    expect(JSON.parse(first.output)).toMatchObject({ ok: true, generated: ['TOKEN_SECRET', 'ADMIN_TOKEN'] })
    const before = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8')).values
    const person = sitDown(env)
    const done = runCli(person.terminal, ['init'])
    const { answer } = person
    await answer('Which network?', ENTER)
    await answer(WALLET, ENTER)
    await answer('What do you sell?', ENTER)
    await answer('Keep the saved plans (1)?', ENTER)
    await answer('Who issues the tokens?', ENTER)
    await answer('Who answers calls that bring a token?', DOWN, ENTER)
    await answer('Base URL of your API', ENTER)
    await answer('Who brings payments to the chain?', ENTER)
    await answer('Private key that signs refunds', ENTER)
    await answer('Where are the records of payments kept?', DOWN, ENTER)
    await answer('Its URL, with user and password', 'postgres://me:secret@db.example/shop', ENTER)
    await answer('The secret that all servers share', ENTER)
    await answer('URL at which buyers reach the server', ENTER)
    await answer('Your name, as buyers see it', ENTER)
    expect(await done).toBe(0)
    expect(person.seen()).not.toContain('secret@db')
    const { values } = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8'))
    expect(values).toEqual({
      ...before,
      SVC_NETWORK: 'testnet',
      DATABASE_URL: 'postgres://me:secret@db.example/shop',
      SVC_SECRET_KEY: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('init for several networks, which a gas wallet settles', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  const key = generatePrivateKey()
  try {
    const person = sitDown({ DATA_DIR: dataDir })
    const done = runCli(person.terminal, ['init'])
    const { answer } = person
    await answer('Which network?', DOWN, DOWN, ENTER)
    await answer('Which ones, separated by commas?', 'base,base-sepolia', ENTER)
    await answer('mixes test money', '\b'.repeat('base,base-sepolia'.length), 'polygon,base', ENTER)
    await answer('Address of your wallet', WALLET, ENTER)
    await answer('What do you sell?', DOWN, ENTER)
    await answer('Base URL of your API', 'http://localhost:8080', ENTER)
    await answer('Id of the route', 'weather', ENTER)
    await answer('Its method', ENTER)
    await answer('Its path', '/weather/:city', ENTER)
    await answer('Its price per call', '$0.01', ENTER)
    await answer('Another route?', ENTER)
    // Polygon has no default facilitator, so that one is not offered.
    await answer('holds POL and ETH', DOWN, ENTER)
    await answer('Private key of the gas wallet', key, ENTER)
    await answer('Private key that signs refunds', ENTER)
    await answer('Where are the records of payments kept?', ENTER)
    await answer('URL at which buyers reach the server', ENTER)
    await answer('Your name, as buyers see it', ENTER)
    expect(await done, person.seen()).toBe(0)
    const path = join(dataDir, 'config.json')
    const saved = async () => JSON.parse(await readFile(path, 'utf8')).values
    expect(await saved()).toMatchObject({ SVC_NETWORK: 'polygon,base', GAS_WALLET_PRIVATE_KEY: key })
    const again = await cli({ DATA_DIR: dataDir }, 'init', '--json', '--network', 'base,polygon,arbitrum')
    expect(JSON.parse(again.output)).toMatchObject({ ok: true })
    expect(await saved()).toMatchObject({ SVC_NETWORK: 'base,polygon,arbitrum' })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('init for calls of an API on mainnet, by the default facilitator with its keys', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  const secret = Buffer.alloc(64, 7).toString('base64')
  try {
    const person = sitDown({ DATA_DIR: dataDir })
    const done = runCli(person.terminal, ['init'])
    const { answer } = person
    await answer('Which network?', DOWN, ENTER)
    await answer('Address of your wallet', WALLET, ENTER)
    await answer('What do you sell?', DOWN, ENTER)
    await answer('Base URL of your API', 'http://localhost:8080', ENTER)
    await answer('Id of the route', 'weather', ENTER)
    await answer('Its method', ENTER)
    await answer('Its path', '/weather/:city', ENTER)
    await answer('Its price per call', '$0.01', ENTER)
    await answer('Another route?', ENTER)
    await answer('Who brings payments to the chain?', ENTER)
    await answer('Key id of its operator', 'key-1', ENTER)
    await answer('The secret of that key', secret, ENTER)
    await answer('Private key that signs refunds', ENTER)
    await answer('Where are the records of payments kept?', ENTER)
    await answer('URL at which buyers reach the server', 'https://shop.example', ENTER)
    await answer('Your name, as buyers see it', ENTER)
    expect(await done, person.seen()).toBe(0)
    const { values } = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8'))
    expect(values).toMatchObject({
      SVC_NETWORK: 'mainnet',
      ROUTES: [{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' }],
      PROXY_TO_BASE_URL: 'http://localhost:8080',
      CDP_API_KEY_ID: 'key-1',
      CDP_API_KEY_SECRET: secret,
      BASE_URL: 'https://shop.example',
    })
    expect(Object.keys(values)).not.toContain('TOKEN_SECRET')
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('stopping in the middle changes nothing', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  try {
    const person = sitDown({ DATA_DIR: dataDir })
    const done = runCli(person.terminal, ['init'])
    await person.answer('Which network?', '\u0003')
    expect(await done).toBe(1)
    await expect(stat(join(dataDir, 'config.json'))).rejects.toThrow()
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('help, version and mistakes of the command line', async () => {
  const { output } = await cli({})
  for (const command of [
    'serve',
    'init',
    'doctor',
    'refunds',
    'reconcile',
    'export',
    'migrate',
    'receipts',
  ]) {
    expect(output).toMatch(new RegExp(`^ +${command} +\\w`, 'm'))
  }
  expect((await cli({}, 'help', 'reconcile')).output).toContain('--from-block=<number>')
  expect((await cli({}, '--version')).output).toMatch(/^\d+\.\d+\.\d+\n$/)
  const cases: Array<[string[], RegExp]> = [
    [['docter'], /^There is no command "docter"; did you mean "doctor"\?/],
    [['refunds'], /^A command is missing\. paystile refunds has: list, retry, resolve\.\n$/],
    [
      ['reconcile', '--form-block', '5'],
      /^There is no option --form-block; did you mean "--from-block"\?\n$/,
    ],
    [
      ['export', '--format', 'xlsx', '--from', 'may'],
      /^--format is "xlsx"; it can be csv or jsonl\.\n--from is "may"; /,
    ],
    [
      ['export', '--to', '01.03.2026'],
      /^--to is "01\.03\.2026"; it must be a day \(UTC\) or a time with its zone/,
    ],
    [
      ['export', '--from', '2026-01-02', '--to', '2026-01-01'],
      /^--to 2026-01-01 is not after --from 2026-01-02; an export ends before --to\.\n$/,
    ],
    [
      ['export', '--of', 'credits', '--from', '2026-01-01', '--to', '2026-01-01T01:00:00+01:00'],
      /^--to 2026-01-01T01:00:00\+01:00 is not after --from 2026-01-01;/,
    ],
    [
      ['credits', 'list', '--wallet', 'foo'],
      /^--wallet does not begin with 0x; an address is 0x and 40 hex digits/,
    ],
    [['credits', 'list', '--wallet', '0x12'], /^--wallet has 2 hex digits; an address has 40/],
    [['refunds', 'retry'], /CHALLENGE/],
    [['refunds', 'resolve', 'http-1'], /--tx/],
    [['doctor', '--json=yes'], /^--json takes no value\.\n$/],
    [['doctor', 'now'], /^now is one argument too many, or --public is missing\.\n$/],
  ]
  for (const [argv, says] of cases) {
    const { code, errors } = await cli({}, ...argv)
    expect({ code, errors }, argv.join(' ')).toEqual({ code: 1, errors: expect.stringMatching(says) })
  }
  const { code, output: document } = await cli({ SVC_NETWORK: 'moon' }, 'refunds', 'list', '--json')
  expect(code).toBe(1)
  expect(JSON.parse(document).errors.join()).toContain('SVC_NETWORK')
})
