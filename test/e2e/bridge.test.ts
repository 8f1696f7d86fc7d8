import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { type Assistant, type AssistantOptions, newFolder, startAssistant } from './bridge-client.ts'
import { cliProcess } from './cli-terminal.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'

let shop: RoutesWorld
let base: string
let buyer: DevAccount
let folder: Awaited<ReturnType<typeof newFolder>>
const assistants: Assistant[] = []
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { mcp: { routes: true } } })
  base = shop.world.baseUrl
})
afterAll(() => shop.stop())
beforeEach(async () => {
  buyer = await shop.world.chain.newBuyer({ micro: 5_000_000n })
  folder = await newFolder()
  shop.backend.answer = sunny
})
afterEach(async () => {
  await Promise.allSettled(assistants.splice(0).map((one) => one.close()))
  await folder.remove()
})

async function start(urls: readonly string[], options: Partial<AssistantOptions> = {}): Promise<Assistant> {
  const one = await startAssistant(urls, { buyer, ledger: folder.path, ...options })
  assistants.push(one)
  return one
}
const spent = async () => 5_000_000n - (await shop.world.chain.balanceOf(buyer.address))
const limits = (amount: string, total: string) => ['--max-amount', amount, '--max-total', total]

test('plans and routes of a gateway, and the tools of its MCP server, are paid once each', async () => {
  const assistant = await start([base, `${base}/mcp`], { flags: limits('$1.00', '$2.00') })
  const tools = await assistant.tools()
  const host = new URL(base).host.replace(/[^A-Za-z0-9]+/g, '_')
  expect(tools.map(({ name }) => name)).toEqual([
    ...['buy_basic', 'buy_pro', `${host}_weather`, `${host}_report`, 'cities'],
    ...['discover_plans', 'request_access', `${host}_weather_2`, `${host}_report_2`, 'spending'],
  ])
  expect(tools[2]).toMatchObject({
    description: expect.stringMatching(
      /^One city\. GET \/weather\/:city of .*costs \$0\.01\. This bridge pays/,
    ),
    inputSchema: { required: ['city'], additionalProperties: false },
  })
  const [called, again] = [
    await assistant.call(`${host}_weather`, { city: 'Zürich', query: { units: 'metric' } }),
    await assistant.call(`${host}_weather_2`, { city: 'Rome' }),
  ]
  expect(JSON.parse(called.text)).toMatchObject({
    resource: { body: { url: '/weather/Z%C3%BCrich?units=metric', sky: 'clear' } },
  })
  expect(called.all).toMatch(
    /Paid \$0\.01 on Base Sepolia, transaction 0x[0-9a-f]{64}\. Spent today: \$0\.01 of \$2\.00\./,
  )
  expect(JSON.parse(again.text)).toMatchObject({ resource: { body: { url: '/weather/Rome' } } })
  expect(await spent()).toBe(2n * CALL_PRICE)
  const posted = await assistant.call(`${host}_report`, { body: { b: 1, a: [2] } })
  expect(posted.isError).toBe(false)
  expect(String(shop.backend.seen.at(-1)?.body)).toBe('{"a":[2],"b":1}')
  const free = await assistant.call('cities')
  expect(free).toMatchObject({ isError: false, all: free.text })
  const plan = await assistant.call('buy_basic')
  expect(JSON.parse(plan.text)).toMatchObject({ type: 'AccessGrant', planId: 'basic' })
  expect(await spent()).toBe(1_000_000n + 3n * CALL_PRICE)
  // The same call later is another purchase.
  await assistant.call(`${host}_weather_2`, { city: 'Rome' })
  expect(await spent()).toBe(1_000_000n + 4n * CALL_PRICE)
  expect(await assistant.spending()).toMatchObject({
    spentToday: '$1.04',
    leftToday: '$0.96',
    wallet: buyer.address,
    answersWaiting: [],
    unfinished: [],
    payments: [
      { state: 'paid', amount: '$0.01', transaction: expect.stringMatching(/^0x/) },
      ...Array(4).fill({}),
    ],
  })
  const wrong = await assistant.call(`${host}_weather`, { town: 'Oslo' })
  expect(wrong).toMatchObject({ isError: true, text: 'There is no argument "town"; it takes city, query.' })
  expect(await spent()).toBe(1_000_000n + 4n * CALL_PRICE)
  expect(assistant.errors()).not.toContain(buyer.privateKey.slice(2))
})

test('an address that answers 402 is one tool; one that sells nothing is told, and the others serve', async () => {
  const assistant = await start([`${base}/weather/oslo`, `${shop.backend.url}/nothing`])
  const names = (await assistant.tools()).map(({ name }) => name)
  expect(names).toEqual([expect.stringMatching(/^get_127_0_0_1_\d+_weather_oslo$/), 'spending'])
  expect(JSON.parse((await assistant.call(names[0]!)).text)).toMatchObject({ resource: { status: 200 } })
  expect(await spent()).toBe(CALL_PRICE)
  expect((await assistant.spending()).sellers).toMatchObject([
    { found: 'paid address' },
    {
      fault: expect.stringContaining(
        'has no catalog at /discover, speaks no MCP and asks for no x402 payment',
      ),
    },
  ])
})

test('what costs more than one payment may be, and what exceeds the day, is not paid, and said in one line', async () => {
  const dear = await start([base], { flags: limits('$0.005', '$1.00') })
  expect(await dear.call('weather', { city: 'Oslo' })).toMatchObject({
    isError: true,
    text: expect.stringMatching(
      /The price is \$0\.01 and the limit \$0\.005\. Nothing was signed\. .*--max-amount/,
    ),
  })
  const small = await start([base], { flags: limits('$0.02', '$0.02') })
  for (const city of ['Oslo', 'Rome']) expect((await small.call('weather', { city })).isError).toBe(false)
  const over = await small.call('weather', { city: 'Paris' })
  expect(over).toMatchObject({
    isError: true,
    text: expect.stringMatching(
      /more than is left of today’s budget\. .*at most \$0\.02 a day, and \$0\.02 of it is spent/,
    ),
  })
  expect(over.text).not.toContain('\n')
  expect(await spent()).toBe(2n * CALL_PRICE)
  await small.close()
  // A restart does not begin a new budget.
  const restarted = await start([base], { flags: limits('$0.02', '$0.02') })
  expect((await restarted.call('weather', { city: 'Paris' })).isError).toBe(true)
  expect(await spent()).toBe(2n * CALL_PRICE)
})

test('two bridges on one ledger spend exactly the budget, and not more', async () => {
  const flags = limits('$0.01', '$0.05')
  const [one, other] = [await start([base], { flags }), await start([`${base}/mcp`], { flags })]
  const answers = await Promise.all(
    [one, other].flatMap((assistant, bridge) =>
      ['a', 'b', 'c', 'd'].map((city) => assistant.call('weather', { city: `${city}${bridge}` })),
    ),
  )
  expect(answers.filter(({ isError }) => !isError)).toHaveLength(5)
  expect(await spent()).toBe(5n * CALL_PRICE)
})

test.each(['legacy', 'auto'] as const)(
  'a person is asked by the client, and pays or not (%s)',
  async (mode) => {
    const asked: string[] = []
    let word: 'accept' | 'decline' = 'decline'
    const person = (message: string) => {
      asked.push(message)
      return word
    }
    const flags = [...limits('$0.01', '$0.01'), '--confirm']
    const assistant = await start([base], { flags, person, mode })
    expect(await assistant.call('weather', { city: 'Oslo' })).toMatchObject({
      isError: true,
      text: 'The user did not agree to the price. Nothing was paid.',
    })
    expect(await spent()).toBe(0n)
    word = 'accept'
    expect((await assistant.call('weather', { city: 'Oslo' })).isError).toBe(false)
    expect(asked).toEqual(
      Array(2).fill(
        expect.stringMatching(/^Pay \$0\.01 in USDC on Base Sepolia to .* for GET .*\/weather\/Oslo\?$/),
      ),
    )
    expect(await spent()).toBe(CALL_PRICE)
    // Nobody is asked about what the budget does not allow, or about what is free.
    expect((await assistant.call('weather', { city: 'Rome' })).text).toContain('today’s budget')
    expect((await assistant.call('cities')).isError).toBe(false)
    expect(asked).toHaveLength(2)
  },
)

test('a client that cannot ask gets the price and a code, which pays once', async () => {
  const assistant = await start([`${base}/mcp`], { flags: [...limits('$0.05', '$1.00'), '--confirm'] })
  expect((await assistant.tools()).map(({ name }) => name)).toContain('confirm_payment')
  const told = await assistant.call('weather', { city: 'Oslo' })
  expect(told).toMatchObject({ isError: false, text: expect.stringContaining('This costs $0.01') })
  expect(await spent()).toBe(0n)
  const code = /code ([A-Z0-9]{6})/.exec(told.text)![1]!
  expect(await assistant.call('confirm_payment', { code: 'AAAAAA' })).toMatchObject({ isError: true })
  const paid = await assistant.call('confirm_payment', { code })
  expect(JSON.parse(paid.text)).toMatchObject({ resource: { body: { url: '/weather/Oslo' } } })
  expect((await assistant.call('confirm_payment', { code })).isError).toBe(true)
  expect(await spent()).toBe(CALL_PRICE)
})

test('the ledger is shown by the command, is readable by its owner alone, and has no secret', async () => {
  const assistant = await start([base])
  await assistant.call('weather', { city: 'Oslo' })
  await assistant.close()
  const shown = await cliProcess({}, 'bridge', '--spending', '--ledger', folder.path)
  expect(shown.output).toMatch(/\$0\.01 {2}paid {2}GET .*\/weather\/Oslo {2}0x[0-9a-f]{64}\n\$0\.01 on \d{4}/)
  const json = await cliProcess({}, 'bridge', '--spending', '--json', '--ledger', folder.path)
  expect(JSON.parse(json.output)).toMatchObject({
    ok: true,
    spentToday: '$0.01',
    payments: [{ state: 'paid' }],
  })
  const file = join(folder.path, 'ledger.jsonl')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'utf8')).not.toContain(buyer.privateKey.slice(2))
})
