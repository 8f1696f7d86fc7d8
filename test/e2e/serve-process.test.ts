import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { startDevChain } from '../../src/testing/index.ts'
import { eventually, freePort } from './world.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const PATH = process.env.PATH ?? ''

test('bad configuration: every fault at once, one line each, exit code 1, no stack trace', () => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [MAIN, 'serve'], {
    encoding: 'utf8',
    env: {
      PATH,
      SVC_WALLET_ADDRESS: '0x1234',
      PLANS: '[{"planId":"a","unitAmount":"1.00"},{"planId":"b","unitAmount":"$1,000"}]',
      TOKEN_SECRET: 'short',
      SVC_NETWORK: 'moonbase',
      PORT: '99999',
    },
  })
  const lines = stderr.trim().split('\n')
  expect(status).toBe(1)
  expect(stdout).toBe('')
  for (const name of ['SVC_WALLET_ADDRESS', 'PLANS', 'TOKEN_SECRET', 'SVC_NETWORK', 'PORT']) {
    expect(
      lines.some((line) => line.includes(name)),
      `${name} in:\n${stderr}`,
    ).toBe(true)
  }
  expect(lines.filter((line) => line.includes('PLANS'))).toHaveLength(2)
  expect(stderr).not.toMatch(/\n\s+at /)
  expect(stderr).not.toContain('short')
})

test('too little configured: the server runs, names each missing variable with an example, and opens setup', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-serve-'))
  // Plans that nobody would answer: told with the rest, and not sold.
  const plans = '[{"planId":"a","unitAmount":"$1.00"}]'
  const env = { PATH, PORT: String(await freePort()), DATA_DIR: dataDir, PLANS: plans }
  const gateway = spawn(process.execPath, [MAIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const line = await new Promise<string>((said) =>
      gateway.stdout.once('data', (text) => said(String(text))),
    )
    const { message, url, why } = JSON.parse(line)
    expect(message).toContain('not configured yet')
    expect(url).toMatch(new RegExp(`^http://localhost:${env.PORT}/setup\\?token=[\\w-]{32}$`))
    for (const name of ['SVC_WALLET_ADDRESS', 'TOKEN_SECRET', 'RESOURCE_ENDPOINT']) {
      expect(why.join()).toContain(`${name}`)
    }
    const exit = new Promise<number | null>((code) => gateway.once('exit', code))
    gateway.kill('SIGTERM')
    expect(await exit).toBe(0)
  } finally {
    gateway.kill('SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('on a terminal it prints a block with the address to open, and no JSON', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-serve-'))
  const env = { PATH, TERM: 'xterm', PORT: String(await freePort()), DATA_DIR: dataDir }
  // script(1) gives the server a terminal of its own.
  const terminal = spawn('script', ['-qec', `'${process.execPath}' '${MAIN}' serve`, '/dev/null'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let text = ''
    terminal.stdout.on('data', (chunk) => {
      text += stripVTControlCharacters(String(chunk)).replaceAll('\r', '')
    })
    await eventually(() => text.includes('TOKEN_SECRET'))
    expect(text).toContain('paystile is not set up yet\n')
    expect(text).toMatch(
      new RegExp(`^ {2}set up +http://localhost:${env.PORT}/setup\\?token=[\\w-]{32}$`, 'm'),
    )
    expect(text).not.toMatch(/^\{/m)
  } finally {
    const exit = new Promise((code) => terminal.once('exit', code))
    terminal.kill('SIGTERM')
    await exit
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('the server stays below 150 MiB after a purchase, and stops cleanly on SIGTERM', async () => {
  const chain = await startDevChain()
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-serve-'))
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  const gateway = spawn(process.execPath, [MAIN, 'serve'], {
    env: {
      PATH,
      PORT: new URL(baseUrl).port,
      BASE_URL: baseUrl,
      RPC_URL: chain.rpcUrl,
      SVC_WALLET_ADDRESS: chain.account(0).address,
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
      DATA_DIR: dataDir,
      POLL_INTERVAL_MS: '50',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await new Promise<void>((ready) => gateway.stdout.once('data', () => ready()))
    const buyer = await chain.newBuyer({ micro: 1_000_000n })
    const { grant } = await createBuyer({ account: buyer.account, maxAmount: '$1.00' }).buy(baseUrl, {
      planId: 'basic',
    })
    expect(grant.tokenType).toBe('Bearer')
    const [, kib] = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${gateway.pid}/status`, 'utf8')) ?? []
    expect(Number(kib) / 1024).toBeLessThan(150)
    const exit = new Promise<number | null>((code) => gateway.once('exit', code))
    gateway.kill('SIGTERM')
    expect(await exit).toBe(0)
  } finally {
    gateway.kill('SIGKILL')
    await chain.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
