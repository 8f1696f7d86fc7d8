import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, freePort } from './world.ts'

const program = fileURLToPath(new URL('../../dist/sandbox/main.js', import.meta.url))

let folder: string
let children: ChildProcess[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paystile-sandbox-'))
  children = []
})
afterEach(async () => {
  const running = children.filter(({ exitCode }) => exitCode === null)
  const exits = running.map((child) => new Promise((gone) => child.once('exit', gone)))
  for (const child of running) child.kill('SIGTERM')
  await Promise.all(exits)
  await rm(folder, { recursive: true, force: true })
})

function run(action: 'start' | 'buy', words: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program, action, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return { child, text: () => text }
}

async function finish(...words: Parameters<typeof run>): Promise<{ code: number | null; text: string }> {
  const { child, text } = run(...words)
  const code = await new Promise<number | null>((exit) => child.once('close', exit))
  return { code, text: text() }
}

async function startSandbox(port: number, ...words: string[]): Promise<string> {
  const { child, text } = run('start', words, { PORT: String(port) })
  children.push(child)
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`the sandbox ended: ${text()}`)
    return text().includes('Ctrl-C')
  })
  return text()
}

test('beside a second sandbox the first one still sells: a plan, a call, credits, a refund that is waited for, and its dashboard', async () => {
  const port = await freePort()
  const first = await startSandbox(port)
  const second = await startSandbox(port)
  expect(first).toContain('GET /forecast/:city $0.01')
  const [, ownPort] = /gateway +http:\/\/localhost:(\d+)/.exec(second)!
  expect(Number(ownPort)).toBeGreaterThan(port)

  const { code, text: told } = await finish('buy', [String(port)])
  expect({ code, told }).toMatchObject({ code: 0 })
  expect(told).toMatch(/GET \/forecast\/oslo answers 200: \{"city":"oslo"/)
  const places = [
    'answers 200: {"plan"',
    '/forecast/oslo',
    '1 credit of the plan calls; 17 are left',
    'refund is on its way',
    'is there, without asking',
    'dashboard',
  ].map((words) => told.indexOf(words))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  const [, dashboard] = /dashboard: (\S+)\s*$/.exec(told)!
  expect(dashboard).toMatch(new RegExp(`^http://localhost:${port}/admin\\?token=`))
  expect(told).toContain('buyer $99.74   seller $0.26')
  expect(told.trimEnd()).toMatch(/buyer \$99\.64 {3}seller \$0\.36\n\nAll of it/)
}, 300_000)

test('on two networks each sells on its own chain; a purchase says where it paid and why, and a poor buyer why nowhere', async () => {
  const port = await freePort()
  const shown = await startSandbox(port, '--networks', 'base-sepolia,arbitrum-sepolia')
  expect(shown.match(/^ {2}chain .*$/gm)).toEqual([
    expect.stringMatching(/http:\S+ \(a local stand-in for Base Sepolia\)/),
    expect.stringMatching(/http:\S+ \(a local stand-in for Arbitrum Sepolia\)/),
  ])
  expect(shown).toContain(`npm run buy -- ${port} --network arbitrum-sepolia`)

  const second = await finish('buy', ['--network', 'arbitrum-sepolia'])
  expect(second).toMatchObject({ code: 0 })
  expect(second.text).toContain(
    'on Arbitrum Sepolia: it is the only one of 2 that fits: Base Sepolia is not among the networks that this buyer allows',
  )
  expect(second.text).toMatch(/settled .* in transaction 0x\w+ on Arbitrum Sepolia/)
  expect(second.text).toMatch(/refund .* in transaction 0x\w+ on Arbitrum Sepolia/)
  expect(second.text.trimEnd()).toMatch(
    /buyer \$100\.00 {3}seller \$0\.00 {3}on Base Sepolia\n.*buyer \$99\.64 {3}seller \$0\.36 {3}on Arbitrum Sepolia/,
  )

  const first = await finish('buy', [])
  expect(first).toMatchObject({ code: 0 })
  expect(first.text).toMatch(/pay \$0\.25 to 0x\w+ on Base Sepolia: it holds enough, 100\.00 USDC/)
  expect(first.text).toContain('buyer $99.64   seller $0.36   on Base Sepolia')

  const other = await finish('buy', ['--network', 'celo-sepolia'])
  expect(other).toEqual({
    code: 1,
    text: '--network is "celo-sepolia"; this sandbox sells on base-sepolia, arbitrum-sepolia.\n',
  })

  const stateFile = join(folder, '.sandbox', String(port), 'state.json')
  const state = JSON.parse(await readFile(stateFile, 'utf8'))
  await writeFile(stateFile, JSON.stringify({ ...state, buyerPrivateKey: generatePrivateKey() }))
  const poor = await finish('buy', [])
  expect(poor.code).toBe(1)
  expect(poor.text).toContain(
    'none of 2 ways to pay fits: balance 0.00 of 0.25 USDC on Base Sepolia; balance 0.00 of 0.25 USDC on Arbitrum Sepolia. Nothing was signed',
  )
}, 300_000)

test.each([
  ['base-sepolia,base', /^--networks has "base", whose money is real; it can be base-sepolia, .*\n$/],
  ['sepolia', /^--networks has "sepolia"; it can be base-sepolia, .*\n$/],
])('--networks %s is refused in one line, and nothing is started', async (networks, line) => {
  const { code, text } = await finish('start', ['--networks', networks])
  expect(code).toBe(1)
  expect(text).toMatch(line)
})
