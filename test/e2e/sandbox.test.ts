import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, freePort } from './world.ts'

const program = (name: string) => fileURLToPath(new URL(`../../dist/sandbox/${name}.js`, import.meta.url))

let folder: string
let children: ChildProcess[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paystile-sandbox-'))
  children = []
})
afterEach(async () => {
  const exits = children.map((child) => new Promise((gone) => child.once('exit', gone)))
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(exits)
  await rm(folder, { recursive: true, force: true })
})

function run(name: string, words: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program(name), ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return { child, text: () => text }
}

async function startSandbox(port: number): Promise<string> {
  const { child, text } = run('start-sandbox', [], { PORT: String(port) })
  children.push(child)
  await eventually(() => text().includes('Ctrl-C'))
  return text()
}

test('beside a second sandbox the first one still sells: a plan, a call, a refund that is waited for, and its dashboard', async () => {
  const port = await freePort()
  const first = await startSandbox(port)
  const second = await startSandbox(port)
  expect(first).toContain('GET /forecast/:city $0.01')
  const [, ownPort] = /gateway +http:\/\/localhost:(\d+)/.exec(second)!
  expect(Number(ownPort)).toBeGreaterThan(port)

  const { child, text } = run('buy-from-sandbox', [String(port)])
  const code = await new Promise<number | null>((exit) => child.once('close', exit))
  expect({ code, text: text() }).toMatchObject({ code: 0 })
  const told = text()
  expect(told).toMatch(/GET \/forecast\/oslo answers 200: \{"city":"oslo"/)
  const places = [
    'answers 200: {"plan"',
    '/forecast/oslo',
    'refund is on its way',
    'is there, without asking',
    'dashboard',
  ].map((words) => told.indexOf(words))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  const [, dashboard] = /dashboard: (\S+)\s*$/.exec(told)!
  expect(dashboard).toMatch(new RegExp(`^http://localhost:${port}/admin\\?token=`))
  expect(told).toContain('buyer $99.74   seller $0.26')
}, 120_000)
