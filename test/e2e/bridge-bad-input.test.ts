import { chmod, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newFolder, startAssistant } from './bridge-client.ts'
import { cli, cliProcess } from './cli-terminal.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'

const KEY = `0x${'11'.repeat(32)}`
const URL_OF = 'https://api.example.com'
const LIMITS = ['--max-amount', '$0.05', '--max-total', '$1.00']
let folder: Awaited<ReturnType<typeof newFolder>>
beforeAll(async () => {
  folder = await newFolder()
})
afterAll(() => folder.remove())

test.each([
  [
    'no key',
    {},
    [URL_OF, ...LIMITS],
    /no key to pay with: set BUYER_PRIVATE_KEY, or name a file by --key-file/,
  ],
  ['a bad key', { BUYER_PRIVATE_KEY: '0x1234' }, [URL_OF, ...LIMITS], /BUYER_PRIVATE_KEY is no private key/],
  ['no address', undefined, LIMITS, /Name at least one address that sells/],
  [
    'no address of HTTP',
    undefined,
    ['api.example.com', ...LIMITS],
    /api\.example\.com is no address; expected/,
  ],
  ['no limit of a day', undefined, [URL_OF, '--max-amount', '$1'], /Say the most that may be spent in a day/],
  ['no limit of a payment', undefined, [URL_OF, '--max-total', '$1'], /Say the most that one payment may be/],
  [
    'a bad limit',
    undefined,
    [URL_OF, '--max-amount', '1', '--max-total', '$1'],
    /--max-amount 1 must start with "\$"/,
  ],
  [
    'a payment above the day',
    undefined,
    [URL_OF, '--max-amount', '$2', '--max-total', '$1'],
    /--max-amount \$2 is more than --max-total \$1/,
  ],
  [
    'a host that is not allowed',
    undefined,
    [URL_OF, 'https://other.example', ...LIMITS, '--allow-host', 'other.example'],
    /https:\/\/api\.example\.com is not allowed by --allow-host; add --allow-host api\.example\.com/,
  ],
  [
    'no host',
    undefined,
    [URL_OF, ...LIMITS, '--allow-host', 'https://x'],
    /--allow-host https:\/\/x is no host/,
  ],
  [
    'a user in an address',
    undefined,
    ['https://me:pw@api.example.com', ...LIMITS],
    /holds a user name; leave it out/,
  ],
  [
    'an unknown option',
    undefined,
    [URL_OF, ...LIMITS, '--max-totl', '$1'],
    /no option --max-totl; did you mean/,
  ],
  [
    'a ledger that cannot be',
    undefined,
    [URL_OF, ...LIMITS, '--ledger', '/dev/null/x'],
    /--ledger \/dev\/null\/x cannot/,
  ],
])('%s: one clear line, and nothing on standard output', async (_name, env, argv, message) => {
  const { code, output, errors } = await cli(env ?? { BUYER_PRIVATE_KEY: KEY }, 'bridge', ...argv)
  expect([code, output]).toEqual([1, ''])
  expect(errors).toMatch(message)
  expect(errors.trim().split('\n')).toHaveLength(1)
  expect(errors).not.toMatch(/1111111111|1234$/)
})

test('a key that others can read is refused, with the way to fix it', async () => {
  const file = join(folder.path, 'key')
  await writeFile(file, KEY)
  await chmod(file, 0o644)
  const argv = ['bridge', URL_OF, ...LIMITS, '--key-file', file, '--ledger', join(folder.path, 'ledger')]
  const refused = await cli({}, ...argv)
  expect([refused.code, refused.errors]).toEqual([
    1,
    `--key-file ${file} can be read by others (mode 0644): chmod 600 ${file}\n`,
  ])
  await chmod(file, 0o600)
  // Standard input is closed at once, so that it ends by itself.
  const started = await cliProcess({}, ...argv)
  expect(started).toMatchObject({ code: 0, output: '' })
  expect(started.errors).not.toContain(KEY.slice(2))
})

test('a seller that leads to another host is not followed, unless the user allows that host', async () => {
  const shop: RoutesWorld = await startRoutesWorld()
  const catalog = {
    agentName: 'Elsewhere',
    plans: [],
    routes: [{ routeId: 'weather', method: 'GET', path: '/weather/oslo' }],
  }
  const server = createServer(({ url }, response) => {
    if (url === '/discover') return void response.end(JSON.stringify(catalog))
    response.writeHead(307, { location: `${shop.world.baseUrl}${url}` }).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const buyer = await shop.world.chain.newBuyer({ micro: 1_000_000n })
    const balance = () => shop.world.chain.balanceOf(buyer.address)
    const options = { buyer, ledger: join(folder.path, 'hosts') }
    const strict = await startAssistant([`http://${place}`], options)
    expect(await strict.call('weather')).toMatchObject({
      isError: true,
      text: expect.stringMatching(
        /redirects to .*another origin.* the user can allow a host by --allow-host/,
      ),
    })
    await strict.close()
    expect(await balance()).toBe(1_000_000n)
    const hosts = [place, new URL(shop.world.baseUrl).host].flatMap((host) => ['--allow-host', host])
    const lenient = await startAssistant([`http://${place}`], { ...options, flags: [...LIMITS, ...hosts] })
    expect((await lenient.call('weather')).isError).toBe(false)
    await lenient.close()
    expect(await balance()).toBe(1_000_000n - CALL_PRICE)
  } finally {
    server.closeAllConnections()
    server.close()
    await shop.stop()
  }
})
