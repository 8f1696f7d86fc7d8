import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findSandboxes, openSandbox, type SandboxState } from './sandbox-state.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-sandbox-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const state = (port: number, startedAt: number, pid = process.pid): SandboxState => ({
  pid,
  startedAt,
  baseUrl: `http://localhost:${port}`,
  dashboardUrl: `http://localhost:${port}/admin`,
  networks: [{ id: 'eip155:421614', rpcUrl: 'http://127.0.0.1:1' }],
  sellerAddress: '0x1',
  buyerPrivateKey: '0x2',
})
const found = (wanted?: string) => findSandboxes(wanted, folder).map(({ baseUrl }) => baseUrl)

test('a second sandbox leaves the first one alone; the newest is listed first, and a port or address chooses one', () => {
  const first = openSandbox(3000, folder)
  first.write(state(3000, 1))
  mkdirSync(first.dataDir)
  writeFileSync(join(first.dataDir, 'records'), 'x')
  const second = openSandbox(3001, folder)
  second.write(state(3001, 2))
  expect(found()).toEqual(['http://localhost:3001', 'http://localhost:3000'])
  expect(found('3000')).toEqual(['http://localhost:3000'])
  expect(found('http://localhost:3001/')).toEqual(['http://localhost:3001'])
  expect(found('3002')).toEqual([])
  second.remove()
  expect(found()).toEqual(['http://localhost:3000'])
})

test('a sandbox whose process is gone is not found', () => {
  // No Linux or macOS process has this id.
  openSandbox(3000, folder).write(state(3000, 1, 2 ** 30))
  expect(found()).toEqual([])
})

test('a new sandbox on the same port starts with an empty folder', () => {
  const old = openSandbox(3000, folder)
  old.write(state(3000, 1))
  openSandbox(3000, folder)
  expect(found()).toEqual([])
})

test('a sandbox of the version before, with one chain and no list, is understood', () => {
  const { networks: _networks, ...rest } = state(3000, 1)
  mkdirSync(join(folder, '3000'))
  writeFileSync(join(folder, '3000', 'state.json'), JSON.stringify({ ...rest, rpcUrl: 'http://127.0.0.1:2' }))
  const [found] = findSandboxes(undefined, folder)
  expect(found).toEqual({ ...rest, networks: [{ id: 'eip155:84532', rpcUrl: 'http://127.0.0.1:2' }] })
})
