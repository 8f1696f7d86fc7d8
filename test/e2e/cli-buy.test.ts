import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { SERVER_PROGRAM } from '../server-program.ts'
import { cli, cliProcess } from './cli-terminal.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'

let shop: RoutesWorld
let folder: string
let buyer: DevAccount
let base: string
beforeAll(async () => {
  shop = await startRoutesWorld()
  folder = await mkdtemp(join(tmpdir(), 'paystile-buy-'))
  base = shop.world.baseUrl
})
afterAll(async () => {
  await shop.stop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  buyer = await shop.world.chain.newBuyer({ micro: 2_000_000n })
  shop.backend.answer = sunny
})

const balance = () => shop.world.chain.balanceOf(buyer.address)
const paying = (...argv: string[]) => [...argv, '--payments', join(folder, buyer.address)]
const env = () => ({ BUYER_PRIVATE_KEY: buyer.privateKey })

test('a call is paid once and its answer shown; as a process of its own, as JSON, and into a file', async () => {
  const bought = await cliProcess(env(), ...paying('buy', `${base}/weather/oslo`, '--max-amount', '$0.01'))
  expect(bought).toMatchObject({ code: 0 })
  expect(JSON.parse(bought.output)).toMatchObject({ resource: { body: { url: '/weather/oslo' } } })
  expect(bought.errors).toMatch(
    /402: it costs \$0\.01 on Base Sepolia\nsigned and sent\npaid in transaction 0x[0-9a-f]{64}\n/,
  )
  expect(await balance()).toBe(2_000_000n - CALL_PRICE)
  const posted = await cli(
    env(),
    ...paying('buy', `${base}/report`, '--data', '{"a":1}', '--max-amount', '$0.01', '--json'),
  )
  expect(JSON.parse(posted.output)).toMatchObject({ ok: true, status: 200 })
  expect(posted.errors).toBe('')
  const file = join(folder, 'answer.json')
  await cli(env(), ...paying('buy', `${base}/weather/oslo`, '--max-amount', '$0.01', '--output', file))
  expect(JSON.parse(await readFile(file, 'utf8'))).toHaveProperty('resource')
  expect(await balance()).toBe(2_000_000n - 3n * CALL_PRICE)
  expect(await readdir(join(folder, buyer.address, 'unfinished'))).toEqual([])
})

test('a plan is bought from a key in a file, and its token is all that is written', async () => {
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, `${buyer.privateKey.slice(2)}\n`, { mode: 0o644 })
  const argv = paying('buy', base, '--plan', 'basic', '--max-amount', '$1.00', '--key-file', keyFile)
  const shared = await cli({}, ...argv)
  expect([shared.code, shared.errors]).toEqual([
    1,
    `--key-file ${keyFile} can be read by others (mode 0644): chmod 600 ${keyFile}\n`,
  ])
  await chmod(keyFile, 0o600)
  const { code, output } = await cli({}, ...argv)
  expect([code, output]).toEqual([0, expect.stringMatching(/^\S+\n$/)])
  expect(await balance()).toBe(1_000_000n)
})

test('at a gateway it lists what is sold, with the command for each', async () => {
  const { code, output } = await cli({}, 'buy', base)
  expect(code).toBe(0)
  expect(output).toContain(`$1.00  npx paystile buy ${base} --plan basic --max-amount '$1.00'\n`)
  expect(output).toContain(`$0.01  npx paystile buy ${base}/weather/:city --max-amount '$0.01'\n`)
  expect(output).toContain(`$0.01  npx paystile buy ${base}/report --method POST --max-amount '$0.01'\n`)
})

test('the command of a list with its :name still in it pays for nothing', async () => {
  const { code, errors } = await cli(
    env(),
    ...paying('buy', `${base}/weather/:city`, '--max-amount', '$0.01'),
  )
  expect([code, errors]).toEqual([1, expect.stringContaining(':city in')])
  expect(errors).toContain('put one of yours in its place. Nothing was paid.')
  expect(await balance()).toBe(2_000_000n)
})

test('what was not decided is continued by the same command, with the same payment', async () => {
  const command = paying('buy', `${base}/weather/rome`, '--max-amount', '$0.01')
  const { chain } = shop.world
  await chain.setAutomine(false)
  const killed = spawn(process.execPath, [SERVER_PROGRAM, ...command], { env: env(), stdio: 'ignore' })
  await expect.poll(async () => (await chain.client.getTxpoolStatus()).pending).toBe(1)
  killed.kill('SIGKILL')
  await once(killed, 'close')
  await chain.setAutomine(true)
  await chain.mine(1)
  const { code, errors } = await cli(env(), ...command)
  expect([code, errors]).toEqual([0, expect.stringContaining('sending the payment that was signed before')])
  expect(await balance()).toBe(2_000_000n - CALL_PRICE)
})

test.each([
  ['no key', {}, ['--max-amount', '$1'], /no key to pay with: set BUYER_PRIVATE_KEY, or name a file/],
  ['a bad key', { BUYER_PRIVATE_KEY: '0x12' }, ['--max-amount', '$1'], /BUYER_PRIVATE_KEY is no private key/],
  ['no limit', undefined, [], /Say the most that it may cost, for example --max-amount '\$0\.05'/],
  ['a bad limit', undefined, ['--max-amount', 'lots'], /--max-amount lots must start with "\$"/],
  ['too low a limit', undefined, ['--max-amount', '$0.001'], /Allow more by --max-amount/],
  [
    'an unknown option',
    undefined,
    ['--max-amuont', '$1'],
    /no option --max-amuont; did you mean "--max-amount"/,
  ],
  [
    'a missing file',
    undefined,
    ['--key-file', '/nowhere', '--max-amount', '$1'],
    /--key-file \/nowhere cannot/,
  ],
])('%s: one clear line, and nothing is paid', async (_name, given, flags, message) => {
  const { code, errors } = await cli(given ?? env(), ...paying('buy', `${base}/weather/oslo`, ...flags))
  expect([code, errors]).toEqual([1, expect.stringMatching(message)])
  expect(errors).not.toContain(buyer.privateKey.slice(2))
  expect(await balance()).toBe(2_000_000n)
})

test('an address that is none, and one without a catalog', async () => {
  expect((await cli(env(), 'buy', 'api.example.com')).errors).toContain('api.example.com is no address')
  expect((await cli(env(), 'buy', shop.backend.url)).errors).toContain('has no catalog')
})

test('a server that does not run is named, whether it is looked at or paid', async () => {
  const freed = createServer().listen(0, '127.0.0.1')
  await once(freed, 'listening')
  const gone = `http://127.0.0.1:${(freed.address() as AddressInfo).port}`
  freed.close()
  await once(freed, 'close')
  for (const command of [
    ['buy', gone],
    ['buy', `${gone}/shop`],
    paying('buy', `${gone}/weather/oslo`, '--max-amount', '$0.01'),
    paying('buy', gone, '--plan', 'basic', '--max-amount', '$1.00'),
  ])
    expect(await cli(env(), ...command)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(`${new URL(gone).host} refuses the connection. Nothing was paid.`),
    })
})

test('an empty wallet is told where test money is', async () => {
  const poor = await shop.world.chain.newBuyer({ micro: 0n })
  const flags = ['--max-amount', '$0.01', '--payments', join(folder, poor.address)]
  const { code, errors } = await cli(
    { BUYER_PRIVATE_KEY: poor.privateKey },
    'buy',
    `${base}/weather/oslo`,
    ...flags,
  )
  expect(code).toBe(1)
  expect(errors).toContain(`Does ${poor.address} hold USDC on Base Sepolia?`)
  expect(errors).toContain('https://faucet.circle.com')
})

test('a call that the backend fails says so, and the money goes back', async () => {
  shop.backend.answer = (_call, response) => void response.writeHead(500).end('out of order')
  const command = paying('buy', `${base}/weather/oslo`, '--max-amount', '$0.01')
  const { code, errors } = await cli(env(), ...command)
  expect([code, errors]).toEqual([1, expect.stringContaining('It was not delivered:')])
})

test('a gateway below a path is listed without a limit, with embedded routes where they are', async () => {
  const routes = [{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' }]
  const documents: Record<string, unknown> = {
    '/pay/discover': { plans: [{ planId: 'hourly', unitAmount: '$0.25' }], routes },
    '/pay/openapi.json': { paths: { '/weather/{city}': { servers: [{ url: '/' }] } } },
  }
  const server = createServer(({ url, headers }, response) => {
    const found = documents[url ?? '']
    const origin = `http://${headers.host}`
    response.writeHead(found ? 200 : 404).end(JSON.stringify(found ?? {}).replace('"/"', `"${origin}"`))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, output } = await cli({}, 'buy', `${origin}/pay`)
  server.close()
  expect([code, output.trimEnd().split('\n')]).toEqual([
    0,
    [
      `$0.25  npx paystile buy ${origin}/pay --plan hourly --max-amount '$0.25'`,
      `$0.01  npx paystile buy ${origin}/weather/:city --max-amount '$0.01'`,
    ],
  ])
})

test('a command without its argument says what it is', async () => {
  expect(await cli({}, 'buy')).toMatchObject({
    code: 1,
    errors: 'An argument is missing, URL: a paid call, or a gateway: then it lists what is sold\n',
  })
})
