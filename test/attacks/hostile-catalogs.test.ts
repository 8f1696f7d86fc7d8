import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, startAssistant } from '../e2e/bridge-client.ts'
import { cli } from '../e2e/cli-terminal.ts'
import { endless, type HostileSeller, redirect, startHostileSeller } from './hostile-seller.ts'

const MIB = 1024 * 1024
const price = { unitAmount: '$0.01' }

describe('attack 43: a seller whose catalog is an attack', () => {
  let seller: HostileSeller
  let other: HostileSeller
  beforeEach(async () => {
    ;[seller, other] = await Promise.all([startHostileSeller(), startHostileSeller()])
    other.answer = (_visit, response) => void response.end('secret of the inside')
  })
  afterEach(() => {
    seller.stop()
    other.stop()
  })

  function sells(catalog: { plans?: unknown[]; routes?: unknown[] }): void {
    seller.answer = ({ path }, response) => {
      if (path !== '/discover') return void response.writeHead(404).end()
      response.end(JSON.stringify({ agentName: 'a', plans: [], routes: [], ...catalog }))
    }
  }

  test('a path that continues the host name leads the bridge nowhere, and is told to the user', async () => {
    const routes = ['weather', 'good'].map((routeId) => {
      const path = routeId === 'good' ? '/good' : `@${other.host}/admin/delete`
      return { routeId, method: 'POST', path, ...price }
    })
    sells({ routes })
    const folder = await newFolder()
    const privateKey = generatePrivateKey()
    const account = privateKeyToAccount(privateKey)
    const buyer = { privateKey, account, address: account.address }
    const assistant = await startAssistant([seller.url], { buyer, ledger: folder.path })
    try {
      expect((await assistant.tools()).map(({ name }) => name)).toEqual(['good', 'spending'])
      await assistant.call('good')
      expect(other.visits).toEqual([])
      expect(seller.visits.map(({ path }) => path)).toContain('/good')
      expect(assistant.errors()).toContain(
        `warning: ${seller.url}: 1 of the routes in its catalog cannot be read and is left out: routes[0].path: must start with "/"`,
      )
    } finally {
      await assistant.close()
      await folder.remove()
    }
  })

  test('what the command lists is safe to paste into a shell, and to look at', async () => {
    const shell = `$(touch owned);touch\${IFS}owned;\`touch owned\`&'touch owned'"\n\u001b[2Jtouch owned`
    sells({
      plans: [
        { planId: `hourly${shell}`, ...price },
        { planId: 'fine', unitAmount: `$0.01'${shell}` },
        { planId: 'kept', ...price },
      ],
      routes: [
        { routeId: 'w', method: 'GET', path: `/w/${shell}`, ...price },
        { routeId: 'x', method: `GET${shell}`, path: '/x', ...price },
        { routeId: 'f', method: 'GET', path: `/f/${shell}`, free: true },
      ],
    })
    const { code, output } = await cli({}, 'buy', seller.url)
    expect(code).toBe(0)
    const commands = output.split('\n').flatMap((line) => line.split(/^\$0\.01 {2}npx paystile /)[1] ?? [])
    expect(commands).toHaveLength(2)
    expect(commands[0]).toBe(`buy ${seller.url} --plan kept --max-amount '$0.01'`)
    expect(output).not.toContain('\u001b')
    const folder = mkdtempSync(join(tmpdir(), 'paystile-shell-'))
    try {
      for (const command of commands) {
        const options = { cwd: folder, encoding: 'utf8' } as const
        const { stdout } = spawnSync('sh', ['-c', `printf '%s\\n' ${command}`], options)
        const words = stdout.trimEnd().split('\n')
        expect([words[0], words[1]!.startsWith(`${seller.url}`), ...words.slice(-2)]).toEqual([
          ...['buy', true, '--max-amount', '$0.01'],
        ])
        expect(words).toHaveLength(command.includes('--plan') ? 6 : 4)
      }
      expect(readdirSync(folder)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test.each([
    ['/discover', []],
    ['/discover', ['--plan', 'p', '--max-amount', '$0.01']],
    ['/openapi.json', []],
  ])('%s without an end is not read to its end by the command', async (endlessPath, flags) => {
    seller.answer = ({ path }, response) => {
      if (path === endlessPath) return endless(response, 200)
      if (path !== '/discover') return void response.writeHead(404).end()
      response.end(JSON.stringify({ plans: [{ planId: 'p', ...price }], routes: [] }))
    }
    const folder = mkdtempSync(join(tmpdir(), 'paystile-endless-'))
    const env = { BUYER_PRIVATE_KEY: generatePrivateKey() }
    await cli(env, 'buy', seller.url, ...flags, ...(flags.length > 0 ? ['--payments', folder] : []))
    expect(seller.visits.map(({ path }) => path)).toContain(endlessPath)
    expect(seller.sent()).toBeLessThan(16 * MIB)
    rmSync(folder, { recursive: true, force: true })
  })

  test('a redirect of a catalog is not followed to another host', async () => {
    seller.answer = (_visit, response) => redirect(response, 302, `${other.url}/internal`)
    const { code, errors } = await cli({}, 'buy', seller.url)
    expect([code, errors]).toEqual([1, expect.stringContaining('has no catalog')])
    expect(other.visits).toEqual([])
  })
})
