import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadFile, loadUrl } from './load-description.ts'
import { readDescription } from './read-description.ts'

const GOOD = JSON.stringify({ openapi: '3.1.0', info: { title: 'Good' }, paths: { '/a': { get: {} } } })
const read = (text: string, more: object = {}) => readDescription(text, { name: 'api', ...more })

/** Each level repeats the one above ten times. */
const bomb = () => {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const above = level === 0 ? '"lol"' : `*l${level - 1}`
    return `l${level}: &l${level} [${Array(10).fill(above).join(',')}]`
  })
  return `openapi: 3.1.0\n${levels.join('\n')}\npaths: {}\n`
}

describe('one line each', () => {
  test.each<[string, string, string]>([
    ['nothing', ' \n', 'api is empty.'],
    ['a web page', '<!doctype html><title>x</title>', 'api is a web page or XML'],
    ['broken JSON', '{"openapi": "3.1.0",', 'api is no valid JSON at'],
    ['broken YAML', 'openapi: [3.1.0', 'api is no valid YAML: '],
    ['other YAML', 'just some words', 'api is no OpenAPI description'],
    ['other JSON', '{"name":"paystile"}', 'api is no OpenAPI description: it has no member openapi'],
    [
      'Swagger 2.0',
      'swagger: "2.0"\npaths: {}',
      'api is Swagger 2.0; convert it to OpenAPI 3 first, for example: npx',
    ],
    ['a later version', 'openapi: 4.0.0\npaths: {}', 'api says openapi 4.0.0; versions 3.0 and 3.1'],
    ['no paths', 'openapi: 3.1.0\nwebhooks: {}', 'api has no paths'],
    ['empty paths', 'openapi: 3.1.0\npaths: {}', 'api has no paths'],
    ['an alias bomb', bomb(), 'api repeats its parts by YAML aliases too often'],
  ])('%s', async (_name, text, message) => {
    await expect(read(text)).rejects.toMatchObject({
      faults: [expect.stringContaining(message)],
    })
  })

  test('nested without end', async () => {
    const nested = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
    const document = await read(`${GOOD.slice(0, -1)},"x":${nested}}`).catch((error: Error) => error)
    expect(document instanceof Error ? document.message : 'read').toMatch(/^(read|api is no valid JSON.*)$/)
    const deep = `openapi: 3.1.0\npaths: ${'['.repeat(20_000)}`
    await expect(read(deep, { timeoutMs: 1500 })).rejects.toThrow(/nested too deeply|takes too long/)
  })

  test('too large', async () => {
    const large = `${GOOD.slice(0, -1)},"x":"${'x'.repeat(11 * 1024 * 1024)}"}`
    await expect(read(large)).rejects.toThrow('api has 11 MB; a description may have 10 MB.')
    await expect(read('openapi: 3.1.0\npaths: {}', { timeoutMs: 1 })).rejects.toThrow('takes too long')
  })
})

test('versions without quotes and marks at the start are understood', async () => {
  expect(await read('\uFEFFopenapi: 3.0\ninfo: {title: T}\npaths: {/a: {}}')).toMatchObject({
    openapi: '3.0',
    title: 'T',
  })
})

test('files that are not there, are folders or too large', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-import-'))
  try {
    const file = join(folder, 'api.json')
    await expect(loadFile(file)).rejects.toThrow('api.json does not exist; give a file or a URL')
    await expect(loadFile(folder)).rejects.toThrow('is a folder')
    writeFileSync(file, Buffer.alloc(50 * 1024 * 1024, ' '))
    await expect(loadFile(file)).rejects.toThrow('api.json has 50 MB; a description may have 10 MB.')
    writeFileSync(file, GOOD)
    expect(await loadFile(file)).toMatchObject({ title: 'Good' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe('addresses', () => {
  let servers: Server[]
  let [here, there] = ['', '']
  const listen = async (answer: RequestListener): Promise<Server> => {
    const server = createServer(answer)
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    return server
  }
  const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  beforeAll(async () => {
    const other = await listen((_request, response) => void response.end(GOOD))
    there = urlOf(other)
    const own = await listen((request, response) => {
      const to = (location: string) => void response.writeHead(302, { location }).end()
      if (request.url === '/good?key=secret') return void response.end(GOOD)
      if (request.url === '/path') return to('/good?key=secret')
      if (request.url === '/host') return to(`${there}/`)
      if (request.url === '/scheme') return to('file:///etc/passwd')
      if (request.url === '/loop') return to('/loop')
      if (request.url === '/large') return void response.end(Buffer.alloc(5000, ' '))
      if (request.url === '/slow') return undefined
      return void response.writeHead(404).end('hunter2')
    })
    here = urlOf(own)
    servers = [own, other]
  })
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })

  test('are read, also by a redirect', async () => {
    const loaded = await loadUrl(`${here}/path`, { sameHost: true })
    expect(loaded).toMatchObject({ title: 'Good', name: `${here}/path`, url: `${here}/good?key=secret` })
    expect(await loadUrl(`${here}/host`, { sameHost: false })).toMatchObject({ url: `${there}/` })
  })

  test.each<[string, string]>([
    ['/none', 'answered 404 instead of a description.'],
    ['/host', 'redirects to another host (127.0.0.1:'],
    ['/scheme', 'redirects begins with file:'],
    ['/loop', 'redirects more than 5 times.'],
    ['/large', 'a description may have 0 MB'],
    ['/slow', 'did not answer in time.'],
  ])('%s', async (path, message) => {
    const limits = { sameHost: true, maxBytes: 4000, timeoutMs: path === '/slow' ? 50 : 5000 }
    const failure = await loadUrl(here + path, limits).catch((error: Error) => error)
    expect((failure as Error).message).toContain(message)
    expect((failure as Error).message).not.toMatch(/hunter2|\n/)
  })

  test('with credentials, of other schemes, or dead', async () => {
    const load = (url: string) => loadUrl(url, { sameHost: true, timeoutMs: 2000 })
    await expect(load('http://me:pw@127.0.0.1/')).rejects.toThrow(
      'The address carries a user name or password',
    )
    await expect(load('ftp://127.0.0.1/')).rejects.toThrow('it must be an http or https URL')
    await expect(load('http://127.0.0.1:9/x?key=secret')).rejects.toThrow(
      'http://127.0.0.1:9/x cannot be reached (ECONNREFUSED).',
    )
  })
})
