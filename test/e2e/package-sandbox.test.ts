import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { eventually, freePort } from './world.ts'

let installed: InstalledPackage
let sandbox: ChildProcess | undefined
beforeAll(async () => {
  installed = await installPackage()
})
afterAll(async () => {
  if (sandbox?.exitCode === null) {
    const gone = once(sandbox, 'exit')
    sandbox.kill('SIGTERM')
    await gone
  }
  installed.remove()
})

function start(words: string[], env: Record<string, string> = {}) {
  const program = join(installed.folder, 'node_modules/.bin/paystile')
  const child = spawn(program, words, {
    cwd: installed.folder,
    env: { PATH: installed.path, ...env },
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

async function finish(...given: Parameters<typeof start>) {
  const { child, text } = start(...given)
  const [code] = await once(child, 'close')
  return { code, text: text() }
}

/** The PATH of a machine that has no chain. */
const withoutChain = () =>
  installed.path
    .split(delimiter)
    .filter((folder) => !existsSync(join(folder, 'anvil')))
    .join(delimiter)

test('without a local chain one line says what to install, and nothing else happens', async () => {
  expect(await finish(['sandbox'], { PATH: withoutChain() })).toEqual({
    code: 1,
    text: 'The local chain is not installed. Install it with: npm install --save-dev --ignore-scripts @foundry-rs/anvil@1\n',
  })
  expect(existsSync(join(installed.folder, '.sandbox'))).toBe(false)
})

test('at a terminal it asks before it fetches the chain: after a no nothing is fetched, after a yes npm does it', async () => {
  // A stand-in for npm, which would ask a registry; it notes what it was told, and fails.
  const tools = join(installed.folder, 'tools')
  const told = join(tools, 'told')
  mkdirSync(tools)
  writeFileSync(join(tools, 'npm'), `#!/bin/sh\necho "$@" >> ${told}\nexit 7\n`, { mode: 0o755 })
  const PATH = [tools, withoutChain()].join(delimiter)

  const no = await atTerminal('paystile sandbox', PATH, 'n')
  expect(no.code).toBe(1)
  expect(no.text).toMatch(/not installed\. Run npm install [^?]+ now\? \(25 MB\)/)
  expect(no.text).toContain('The local chain is not installed. Install it with: npm install')
  expect(existsSync(told)).toBe(false)

  const yes = await atTerminal('paystile sandbox', PATH, 'y')
  expect(yes.code).toBe(1)
  expect(yes.text).toContain('@foundry-rs/anvil@1 failed with exit code 7.')
  expect(readFileSync(told, 'utf8')).toBe('install --save-dev --ignore-scripts @foundry-rs/anvil@1\n')
  expect(existsSync(join(installed.folder, '.sandbox'))).toBe(false)
})

/** Runs a command at a terminal of its own, and presses this key at the first question. */
async function atTerminal(command: string, PATH: string, key: string) {
  // A terminal without a window has no width, and every character would get a line of its own.
  const child = spawn('script', ['-qec', `stty cols 200; ${command}`, '/dev/null'], {
    cwd: installed.folder,
    env: { PATH, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += stripVTControlCharacters(chunk)
  })
  await eventually(() => text.includes('now?') && text.includes('Yes'))
  child.stdin.write(key)
  const [code] = await once(child, 'close')
  return { code, text: text.replace(/\s+/g, ' ') }
}

test.each([
  [['sell'], '"sell" is no action of the sandbox; it can be start, buy [port] or install.'],
  [['install', 'all'], 'all is one argument too many; it can be start, buy [port] or install.'],
  [['--network', 'base'], '--network is where to buy; say by --networks where the sandbox sells.'],
  [['--networks', 'base'], '--networks has "base", whose money is real; it can be base-sepolia, '],
  [['buy'], 'The sandbox is not running. Start it first, in another terminal: npx paystile sandbox'],
])('sandbox %j is refused in one line', async (words, line) => {
  const { code, text } = await finish(['sandbox', ...words])
  expect([code, text.trimEnd().split('\n').length]).toEqual([1, 1])
  expect(text).toContain(line)
})

test('with one, a sandbox from the packed files sells a plan, a call and credits, and refunds', async () => {
  const { child, text } = start(['sandbox'], { PORT: String(await freePort()) })
  sandbox = child
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`the sandbox ended: ${text()}`)
    return text().includes('Ctrl-C')
  })
  expect(text()).toContain('npx paystile sandbox buy')
  const bought = await finish(['sandbox', 'buy'])
  expect(bought).toMatchObject({ code: 0 })
  expect(bought.text.trimEnd()).toMatch(/buyer \$99\.64 {3}seller \$0\.36\n\nAll of it/)
}, 300_000)
