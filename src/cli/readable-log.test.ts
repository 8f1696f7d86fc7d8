import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { readableLog } from './readable-log.ts'

const plain = (entry: object) =>
  stripVTControlCharacters(readableLog(`${JSON.stringify({ time: '2026-11-16T10:20:30.400Z', ...entry })}\n`))

test('a server that is not set up says where to set it up, and what is missing', () => {
  const url = 'http://localhost:3000/setup?token=abc'
  const text = plain({
    level: 'warn',
    message: 'not configured yet: open the URL',
    url,
    port: 3000,
    why: ['PLANS is missing', 'B'],
  })
  expect(text).toBe(`
paystile is not set up yet

  set up     ${url}
             in a browser. What it needs:

  · PLANS is missing
  · B

`)
})

test('a server that sells shows its address, what it sells and which wallet is paid', () => {
  const ready = {
    url: 'http://localhost:3000',
    port: 3000,
    network: 'eip155:84532',
    walletAddress: '0xab',
    plans: 2,
    routes: 1,
  }
  expect(plain({ level: 'info', message: 'ready', ...ready })).toBe(`
paystile is ready

  gateway    http://localhost:3000
  network    eip155:84532
  wallet     0xab
  sells      2 plans, 1 route

`)
  const networks = ['eip155:8453 (Base)', 'eip155:137 (Polygon)']
  expect(plain({ level: 'info', message: 'ready', ...ready, networks })).toContain(
    '  network    eip155:8453 (Base), eip155:137 (Polygon)\n',
  )
  const url = 'http://localhost:3000/admin?token=abc'
  expect(plain({ level: 'info', message: 'the dashboard, for one login', url })).toBe(
    `  dashboard  ${url}\n             (good for one login)\n\n`,
  )
})

test('every other entry is one line, which text of a buyer can neither break nor colour', () => {
  const entry = { message: 'a\u001b[31mb\nc', challengeId: 'http-1', payer: 'x\u009b y', count: 2 }
  expect(plain({ level: 'error', ...entry })).toBe(
    '10:20:30 error  a [31mb c  challengeId=http-1 payer="x  y" count=2\n',
  )
})

test('text that is not a line of the log is shown unchanged', () => {
  expect(readableLog('hello\n')).toBe('hello\n')
})
