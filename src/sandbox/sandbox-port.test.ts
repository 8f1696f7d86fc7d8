import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { readServerSettings } from '../config/server-variables.ts'
import { runSandbox } from './run-sandbox.ts'
import { NPM_SCRIPTS } from './sandbox-commands.ts'
import { choosePort, wantedPort } from './sandbox-port.ts'

afterEach(() => vi.unstubAllEnvs())

test.each(['abc', '3000x', '-5', '70000', '3e3', '0x50'])(
  'PORT=%s ends the sandbox before anything is started, with what serve says',
  async (PORT) => {
    vi.stubEnv('PORT', PORT)
    const [fault] = readServerSettings({ PORT }, () => '').faults
    expect(fault).toBe(`PORT is "${PORT}"; a port is a whole number from 0 to 65535, for example PORT=3000`)
    await expect(runSandbox(['start'], NPM_SCRIPTS)).rejects.toThrow(new Error(fault))
  },
)

test('PORT is 3000 if nothing is set, and may have blanks around it', () => {
  expect([{}, { PORT: '' }, { PORT: ' ' }, { PORT: ' 4000 ' }].map(wantedPort)).toEqual([
    3000, 3000, 3000, 4000,
  ])
})

test('a port that is taken is passed over, but never for one beyond the last', async () => {
  const server = createServer()
  const listen = (port: number) =>
    new Promise<void>((done) => server.once('error', () => done()).listen(port, done))
  await listen(0)
  const { port } = server.address() as AddressInfo
  expect(await choosePort(port)).not.toBe(port)
  await new Promise((closed) => server.close(closed))
  await listen(65_535)
  await expect(choosePort(65_535)).rejects.toThrow('No free port between 65535 and 65535; set PORT.')
  await new Promise((closed) => server.close(closed))
})

test('for 0 it is any port that is free', async () => {
  expect(await choosePort(0)).toBeGreaterThan(0)
})
