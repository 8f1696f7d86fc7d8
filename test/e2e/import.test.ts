import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { writeConfigFile } from '../../src/config/config-file.ts'
import { cli } from './cli-terminal.ts'
import { CALL_PRICE, PROXY_SECRET, startBackend, startRoutesWorld, sunny } from './routes-world.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/openapi/${name}`, import.meta.url))
const PETS = fixture('pet-store.yaml')
const FORGE = fixture('forge.yaml')

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-import-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const run = (...argv: string[]) => cli({ DATA_DIR: dataDir }, 'import', ...argv)
const configFile = () => join(dataDir, 'config.json')
const savedValues = async () => JSON.parse(await readFile(configFile(), 'utf8')).values

describe('paystile import', () => {
  test('writes routes and backend; again it shows the difference and keeps what was set', async () => {
    const first = await run(
      FORGE,
      '--price',
      '$0.01',
      '--price',
      'GET /users/*=0.05',
      '--free',
      'GET /emojis',
    )
    expect(first).toMatchObject({ code: 0, errors: '' })
    expect(first.output).toContain(
      'Forge (OpenAPI 3.1.0): 36 routes, answered by https://eu.forge.example/v1.',
    )
    expect(first.output).toMatch(/added +GET \/users\/:username +\$0\.05 +users-get/)
    expect(first.output).toMatch(/warn +not imported: TRACE \/gists\/\{gist_id\} is no method/)
    expect(first.output).toContain('Next: paystile init asks for what is missing to sell.')
    const values = await savedValues()
    expect(values.PROXY_TO_BASE_URL).toBe('https://eu.forge.example/v1')
    expect(values.ROUTES).toHaveLength(36)
    expect((await stat(configFile())).mode & 0o777).toBe(0o600)

    const same = await run(FORGE)
    expect(same.output).toContain('Unchanged: 36.\n')
    expect(same.output).toContain('Nothing to change.')

    // The seller changes a price and adds a route; the description loses a path and words one anew.
    const routes = values.ROUTES.map((route: { routeId: string }) =>
      route.routeId === 'search-code' ? { ...route, unitAmount: '$2.00' } : route,
    )
    const mine = { routeId: 'mine', method: 'GET', path: '/mine', unitAmount: '$1.00' }
    await writeFile(
      configFile(),
      JSON.stringify({ version: 1, values: { ...values, ROUTES: [mine, ...routes] } }),
    )
    const text = (await readFile(FORGE, 'utf8'))
      .replace('List licenses', 'All licenses')
      .replace(/\n {2}\/emojis:[\s\S]*?(?=\n {2}\/users:)/, '')
    const changed = join(dataDir, 'forge.yaml')
    await writeFile(changed, text)
    const before = await readFile(configFile(), 'utf8')
    const dry = await run(changed, '--dry-run', '--prune')
    expect(dry.output).toMatch(/removed +GET \/mine/)
    expect(await readFile(configFile(), 'utf8')).toBe(before)

    const again = await run(changed)
    expect(again.output).toMatch(/changed +GET \/licenses +\$0\.01 +description/)
    expect(again.output).toMatch(/kept +GET \/emojis +free +not in the description; --prune removes it/)
    expect(again.output).toContain('GET /search/code: $2.00 stays; the description says $0.03; --take-prices')
    const ids = (list: Array<{ routeId: string }>) => list.map(({ routeId }) => routeId)
    expect(ids((await savedValues()).ROUTES)).toEqual(ids([mine, ...routes]))

    const taken = JSON.parse((await run(changed, '--take-prices', '--prune', '--json')).output)
    expect(taken).toMatchObject({ ok: true, written: true, removed: ['mine', 'meta-emojis'] })
    const last = (await savedValues()).ROUTES
    expect(last.find(({ routeId }: { routeId: string }) => routeId === 'search-code').unitAmount).toBe(
      '$0.03',
    )
    expect(ids(last)).not.toContain('mine')
  })

  test.each<[string, string[], string]>([
    ['no price', [FORGE], "33 routes have no price (GET /rate_limit, …): give one for all, --price '$0.01'"],
    ['no server', [PETS, '--price', '$0.01'], 'is no whole address ("/api/v3"); give --server URL.'],
    [
      'a bad price',
      [FORGE, '--price', 'bash.01'],
      '--price is "bash.01"; it must be "$" and a decimal number',
    ],
    ['a bad route', [FORGE, '--free', 'users'], '--free "users" names no route; for example "GET /pets/*".'],
    ['a missing file', ['nowhere.yaml'], 'nowhere.yaml does not exist'],
    ['credentials', ['https://me:pw@api.example/openapi.json'], 'carries a user name or password'],
    ['another scheme', ['file:///etc/passwd'], 'it must be an http or https URL'],
  ])('with %s says one line, and writes nothing', async (_name, argv, line) => {
    const { code, errors, output } = await run(...argv)
    expect({ code, output }).toEqual({ code: 1, output: '' })
    expect(errors).toContain(line)
    expect(errors.trimEnd()).not.toContain('\n')
    await expect(stat(configFile())).rejects.toThrow('ENOENT')
  })

  test('what was saved while the description was read is kept: the import is refused', async () => {
    const before = { AGENT_NAME: 'Ada', TOKEN_SECRET: 'a'.repeat(64) }
    const meanwhile = { ...before, TOKEN_SECRET: 'b'.repeat(64) }
    writeConfigFile(dataDir, before)
    const description = await readFile(FORGE)
    const server = createServer((_request, response) => {
      writeConfigFile(dataDir, meanwhile)
      response.end(description)
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.yaml`
    expect(await run(url, '--price', '$0.01')).toEqual({
      code: 1,
      output: '',
      errors: expect.stringMatching(/config\.json was changed meanwhile.*nothing was written.*again\.\n$/i),
    })
    expect(await savedValues()).toEqual(meanwhile)
  })

  test('what the environment sets is not overridden silently', async () => {
    const env = { DATA_DIR: dataDir, ROUTES: '[]' }
    expect((await cli(env, 'import', FORGE, '--price', '$1')).errors).toContain(
      'ROUTES is set in the environment',
    )
  })
})

test('an imported route is sold on the chain, and its schemas are told', async () => {
  const backend = await startBackend()
  const description = await readFile(PETS, 'utf8')
  backend.answer = (call, response) =>
    call.url === '/docs/openapi.yaml' ? void response.end(description) : sunny(call, response)
  const imported = await run(`${backend.url}/docs/openapi.yaml`, '--price', '$0.01', '--raw')
  expect(imported).toMatchObject({ code: 0, errors: '' })
  const { ROUTES: routes, PROXY_TO_BASE_URL: baseUrl } = await savedValues()
  expect(baseUrl).toBe(`${backend.url}/api/v3`)
  const shop = await startRoutesWorld({ options: { routes, proxyTo: { baseUrl, secret: PROXY_SECRET } } })
  try {
    const buyer = await shop.world.chain.newBuyer({ micro: CALL_PRICE })
    const { header, required } = await shop.signFor(buyer, '/pet/7')
    expect(required.resource.description).toBe('Find pet by ID.')
    const answer = await shop.call('/pet/7', {}, header)
    expect(answer).toMatchObject({ status: 200, body: { url: '/api/v3/pet/7', sky: 'clear' } })
    expect((await shop.call('/store/inventory')).status).toBe(200)

    const source = await (await fetch(`${shop.world.baseUrl}/openapi.json`)).text()
    const { paths } = JSON.parse(source)
    expect(paths['/pet'].put.requestBody).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { required: ['name', 'photoUrls'] } } },
    })
    expect(paths['/pet/{petId}'].get.responses['200'].content['application/json'].schema).toMatchObject({
      properties: { name: { type: 'string' } },
    })
    const config = await createConfig({
      extends: ['recommended'],
      rules: { 'info-license': 'off', 'no-unused-components': 'off' },
    })
    const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
    expect(
      problems
        .filter(({ severity }) => severity === 'error')
        .map(({ message, location }) => [message, location[0]?.pointer]),
    ).toEqual([])
  } finally {
    await shop.stop()
    await backend.stop()
  }
})
