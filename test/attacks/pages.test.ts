import { once } from 'node:events'
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorld, type World } from '../e2e/world.ts'

const EVIL = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'<!--`
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-mode': 'navigate' }

let world: World
beforeAll(async () => {
  world = await startWorld({
    options: {
      agentName: EVIL,
      plans: [{ planId: 'basic', unitAmount: '$1.00', description: EVIL }],
      routes: [
        {
          ...{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
          description: EVIL,
        },
      ],
      proxyTo: { baseUrl: 'http://127.0.0.1:9' },
    },
  })
})
afterAll(() => world.stop())

/** As a browser asks that opens an address; fetch would say that it is a script. */
async function open(path: string): Promise<{ status: number; headers: IncomingHttpHeaders; page: string }> {
  const [response] = (await once(get(world.baseUrl + path, { headers: BROWSER }), 'response')) as [
    IncomingMessage,
  ]
  return { status: response.statusCode ?? 0, headers: response.headers, page: await text(response) }
}

test.each([
  ['the shop window', '/', 200],
  ['a paid link', `/weather/oslo?q=${encodeURIComponent(EVIL)}`, 402],
])('attack 57: no text acts in the page of %s, and nobody frames it', async (_name, path, status) => {
  const { headers, page, ...opened } = await open(path)
  expect([opened.status, headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
  expect(page).not.toMatch(/<script>alert|<img src=x/)
  const policy = headers['content-security-policy']
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|\*/)
  expect(headers['x-frame-options']).toBe('DENY')
})
