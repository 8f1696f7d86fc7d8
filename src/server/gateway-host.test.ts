import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConfigFile, writeConfigFile } from '../config/config-file.ts'
import { ConfigError, UnavailableError } from '../errors.ts'
import { createGatewayHost } from './gateway-host.ts'
import { loadConfiguration } from './load-configuration.ts'
import type { FindHost } from './managed-infra.ts'
import type { RunningGateway } from './start-gateway.ts'

const good = {
  SVC_WALLET_ADDRESS: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  PLANS: [{ planId: 'basic', unitAmount: '$1.00' }],
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}
const shared = { ...good, SVC_SECRET_KEY: 'k'.repeat(40) }
const nowhere: FindHost = async () => 'absent'

let dataDir: string
let opened: string[]
let closed: string[]
let warnings: string[]
let beforeStart: () => Promise<void>
/** What the next starts throw. */
let failures: Error[]
let records: boolean | 'unknown'
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-host-'))
  opened = []
  closed = []
  warnings = []
  failures = []
  records = false
  beforeStart = async () => {}
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

async function readLog(): Promise<object[]> {
  if (records === 'unknown') throw new UnavailableError('the store')
  return records ? [{}] : []
}

/** A host whose gateways are fakes: only whether they start matters here. */
async function build(env: Record<string, string> = {}, findHost = nowhere) {
  const warn = (message: string) => void warnings.push(message)
  const loaded = await loadConfiguration({ DATA_DIR: dataDir, ...env }, { warn, findHost })
  return createGatewayHost({
    loaded,
    warn,
    retryMs: 1,
    onChange: () => {},
    async start(configuration) {
      await beforeStart()
      const failure = failures.shift()
      if (failure) throw failure
      const name = configuration.config!.agentName
      opened.push(name)
      return {
        configuration,
        gateway: { backstage: { store: { log: readLog } } },
        openDashboard: () => {},
        closeDashboard: () => {},
        answer: async () => new Response(name),
        close: async () => void closed.push(name),
      } as unknown as RunningGateway
    },
  })
}
const answer = async (host: Awaited<ReturnType<typeof build>>) =>
  (await host.answer(new Request('http://x/'), {})).text()

describe('start', () => {
  test('without a configuration the server waits for setup', async () => {
    const host = await build()
    await host.start()
    expect([host.phase(), opened]).toEqual(['setup', []])
  })

  test('a store that is not up yet is waited for, and the setup page stays closed meanwhile', async () => {
    writeConfigFile(dataDir, shared)
    await writeFile(join(dataDir, 'managed-infra'), 'redis\n')
    failures = [new UnavailableError('redis'), new UnavailableError('redis'), new UnavailableError('redis')]
    const host = await build({}, async () => 'unknown')
    expect(host.configuration().config?.store).toMatchObject({ kind: 'redis', url: 'redis://redis:6379/0' })
    const phases = new Set([host.phase()])
    const started = host.start()
    while (opened.length === 0) {
      phases.add(host.phase())
      await new Promise((turn) => setTimeout(turn, 1))
    }
    await started
    expect([...phases]).toEqual(['starting'])
    expect(host.phase()).toBe('live')
    expect(warnings).toHaveLength(3)
  })

  test('a variable that is missing only because DNS shows a store beside the server is explained', async () => {
    writeConfigFile(dataDir, good)
    const host = await build({}, async (name) => (name === 'postgres' ? 'found' : 'absent'))
    await host.start()
    expect(host.phase()).toBe('setup')
    expect(host.configuration().missing).toEqual([
      expect.stringMatching(
        /^SVC_SECRET_KEY is missing.*postgres runs beside this server; SVC_MANAGED_INFRA=none/,
      ),
    ])
  })

  test('a fault that shows at the start opens setup if the saved file has it, and ends the server otherwise', async () => {
    writeConfigFile(dataDir, { ...good, RPC_URL: 'http://rpc.example' })
    const fault = 'RPC_URL answers chainId 1; eip155:84532 has 84532.'
    failures = [new ConfigError([fault])]
    const host = await build()
    await host.start()
    expect([host.phase(), host.fileFaults()]).toEqual(['setup', [fault]])
    failures = [new ConfigError([fault])]
    await expect((await build({ RPC_URL: 'http://rpc.example' })).start()).rejects.toThrow(fault)
    failures = [new ConfigError(['DATA_DIR: ./data/paystile.db is in use by another process'])]
    await expect((await build()).start()).rejects.toThrow('in use by another process')
  })

  test('a bad environment ends the server, with every fault', async () => {
    await expect(build({ CONFIRMATIONS: 'x', PORT: 'y' })).rejects.toMatchObject({
      faults: expect.arrayContaining([
        expect.stringMatching(/^CONFIRMATIONS/),
        expect.stringMatching(/^PORT/),
      ]),
    })
  })
})

const hasToken = () => undefined

describe('save', () => {
  test('attack 40: wallet, keys and address change only with the token; before the server sells, it is not asked for', async () => {
    const refusal = { error: 'It is ADMIN_TOKEN.' }
    let asked = 0
    const refuse = () => {
      asked += 1
      return refusal
    }
    const host = await build()
    expect(await host.save({ ...good, AGENT_NAME: 'one' }, false, refuse)).toMatchObject({ kind: 'saved' })
    expect(await host.save({ ...good, AGENT_NAME: 'two' }, false, refuse)).toMatchObject({ kind: 'saved' })
    expect(asked).toBe(0)
    const stolen = {
      ...good,
      SVC_WALLET_ADDRESS: `0x${'66'.repeat(20)}`,
      ADMIN_TOKEN: 'the-thiefs-own-token',
    }
    expect(await host.save(stolen, true, refuse)).toEqual({
      kind: 'token-needed',
      names: ['SVC_WALLET_ADDRESS', 'ADMIN_TOKEN'],
      refusal,
    })
    expect(readConfigFile(dataDir).values).toEqual({ ...good, AGENT_NAME: 'two' })
    expect(await answer(host)).toBe('two')
    expect(await host.save({ ...stolen, AGENT_NAME: 'three' }, false, hasToken)).toMatchObject({
      kind: 'saved',
    })
  })

  test('a printed token is not used up by what could not be saved anyway', async () => {
    const host = await build()
    await host.save(good, false, hasToken)
    let asked = 0
    const accept = () => {
      asked += 1
      return undefined
    }
    records = true
    const mainnet = { ...good, SVC_NETWORK: 'mainnet', GAS_WALLET_PRIVATE_KEY: 'ab'.repeat(32) }
    expect(await host.save({ ...good, SVC_WALLET_ADDRESS: '0x12' }, false, accept)).toMatchObject({
      kind: 'faulty',
    })
    expect(await host.save(mainnet, false, accept)).toMatchObject({ kind: 'unconfirmed' })
    expect(asked).toBe(0)
    expect(await host.save(mainnet, true, accept)).toMatchObject({ kind: 'saved' })
    expect(asked).toBe(1)
  })

  test('the next gateway replaces the one before, and the file is written', async () => {
    const host = await build()
    await host.start()
    expect(await host.save({ ...good, AGENT_NAME: 'one' }, false, hasToken)).toMatchObject({ kind: 'saved' })
    expect(await answer(host)).toBe('one')
    expect(await host.save({ ...good, AGENT_NAME: 'two' }, false, hasToken)).toMatchObject({ kind: 'saved' })
    expect(await answer(host)).toBe('two')
    await host.close()
    expect(closed).toEqual(['one', 'two'])
    expect(readConfigFile(dataDir).values).toEqual({ ...good, AGENT_NAME: 'two' })
  })

  test('a gateway that cannot start, or a file that changed meanwhile or cannot be written, changes nothing', async () => {
    const host = await build()
    await host.save({ ...good, AGENT_NAME: 'one' }, false, hasToken)
    failures = [new UnavailableError('the database')]
    expect(await host.save({ ...good, AGENT_NAME: 'two' }, false, hasToken)).toEqual({
      kind: 'failed',
      error: expect.stringContaining('the database is unavailable'),
    })
    failures = [new ConfigError(['RPC_URL answers chainId 1.'])]
    expect(await host.save({ ...good, AGENT_NAME: 'two' }, false, hasToken)).toEqual({
      kind: 'faulty',
      faults: [{ name: 'RPC_URL', message: 'RPC_URL answers chainId 1.' }],
      missing: [],
    })
    expect(await host.save({ AGENT_NAME: 'two' }, false, hasToken)).toMatchObject({
      kind: 'faulty',
      missing: [{ name: 'SVC_WALLET_ADDRESS' }, { name: 'PLANS' }, { name: 'TOKEN_SECRET' }],
    })
    beforeStart = async () => {
      await rm(dataDir, { recursive: true })
      await writeFile(dataDir, '')
    }
    const changed = await host.save({ ...good, AGENT_NAME: 'three' }, false, hasToken)
    expect(changed).toMatchObject({ kind: 'failed', error: expect.stringContaining('was changed') })
    expect(await answer(host)).toBe('one')
    const unwritable = await (await build()).save({ ...good, AGENT_NAME: 'four' }, false, hasToken)
    expect(unwritable).toMatchObject({ kind: 'failed', error: expect.stringContaining('cannot be written') })
    expect(closed).toEqual(['three', 'four'])
  })

  test('a save that would leave records behind asks for confirmation', async () => {
    const host = await build()
    await host.save(good, false, hasToken)
    const elsewhere = { ...shared, DATABASE_URL: 'postgres://u:hunter2@db/shop' }
    const mainnet = { ...good, SVC_NETWORK: 'mainnet', GAS_WALLET_PRIVATE_KEY: 'ab'.repeat(32) }
    records = true
    const asked = await host.save(elsewhere, false, hasToken)
    expect(asked).toEqual({
      kind: 'unconfirmed',
      reasons: [expect.stringMatching(/embedded store in .*; with postgres:\/\/u@db:5432\/shop/)],
    })
    expect(await host.save(mainnet, false, hasToken)).toMatchObject({ kind: 'unconfirmed' })
    expect(await host.save({ ...good, AGENT_NAME: 'other' }, false, hasToken)).toMatchObject({
      kind: 'saved',
    })
    expect(await host.save(mainnet, true, hasToken)).toMatchObject({ kind: 'saved' })
    records = false
    expect(await host.save(good, false, hasToken), 'nothing to leave').toMatchObject({ kind: 'saved' })
  })

  describe('with a store in trouble, so that no gateway runs', () => {
    const fault = 'DATABASE_URL: postgres://u@127.0.0.1:1/shop refuses: password authentication failed'
    const inPostgres = { ...shared, DATABASE_URL: 'postgres://u:old@127.0.0.1:1/shop' }
    const inRedis = { ...shared, REDIS_URL: 'redis://127.0.0.1:1/0' }
    const asked = (where: RegExp) => ({
      kind: 'unconfirmed',
      reasons: [expect.stringMatching(where)],
    })

    test.each([
      ['Postgres', inPostgres, good, /in postgres:\/\/u@127.0.0.1:1\/shop; with the embedded store/],
      ['Redis', inRedis, inPostgres, /in redis at 127.0.0.1:1, database 0; with postgres/],
    ])('%s that cannot be asked counts as one with records', async (_store, before, after, where) => {
      writeConfigFile(dataDir, before)
      failures = [new ConfigError([fault.replace('DATABASE_URL', Object.keys(before).at(-1)!)])]
      const host = await build()
      await host.start()
      expect(host.phase()).toBe('setup')
      expect(await host.save(after, false, hasToken)).toEqual(asked(where))
      expect(readConfigFile(dataDir).values).toEqual(before)
      expect(await host.save(after, true, hasToken)).toMatchObject({ kind: 'saved' })
    })

    test('a store that is waited for counts too, and so does one whose configuration is incomplete', async () => {
      writeConfigFile(dataDir, inPostgres)
      failures = Array.from({ length: 60 }, () => new UnavailableError('the database'))
      const waiting = await build()
      const started = waiting.start().catch(() => {})
      expect(waiting.phase()).toBe('starting')
      expect(await waiting.save(good, false, hasToken)).toEqual(asked(/in postgres:/))
      await started
      const { SVC_SECRET_KEY: _key, ...incomplete } = inPostgres
      writeConfigFile(dataDir, incomplete)
      const host = await build()
      await host.start()
      expect(host.phase()).toBe('setup')
      expect(await host.save(good, false, hasToken)).toEqual(asked(/in postgres:/))
    })

    test('another password is no other store, and nothing was ever kept at an address that cannot be read', async () => {
      writeConfigFile(dataDir, inPostgres)
      failures = [new ConfigError([fault])]
      const host = await build()
      await host.start()
      const renewed = { ...inPostgres, DATABASE_URL: 'postgres://u:new@127.0.0.1:1/shop' }
      expect(await host.save(renewed, false, hasToken)).toMatchObject({ kind: 'saved' })
      writeConfigFile(dataDir, { ...shared, DATABASE_URL: 'postgres://127.0.0.1/shop' })
      failures = [new ConfigError(['DATABASE_URL: The Postgres URL names no user'])]
      const unread = await build()
      await unread.start()
      expect(await unread.save(renewed, false, hasToken)).toMatchObject({ kind: 'saved' })
    })

    test('the store of a running gateway that stops answering counts as one with records', async () => {
      const host = await build()
      await host.save(good, false, hasToken)
      records = 'unknown'
      expect(await host.save(inPostgres, false, hasToken)).toEqual(asked(/in the embedded store/))
    })
  })

  test('what a command wrote since the file was read is not undone, and no token is used up', async () => {
    const host = await build()
    await host.save({ ...good, ADMIN_TOKEN: 'the-token-that-leaked' }, false, hasToken)
    const rotated = { ...good, ADMIN_TOKEN: 'the-token-that-replaces-it' }
    writeConfigFile(dataDir, rotated)
    const refuse = () => ({ error: 'asked for the token' })
    const next = { ...good, ADMIN_TOKEN: 'a-third-token-of-the-page' }
    expect(await host.save(next, true, refuse)).toEqual({
      kind: 'failed',
      error: expect.stringMatching(/config\.json was changed .*Restart the server/),
    })
    expect(readConfigFile(dataDir).values).toEqual(rotated)
    expect(opened).toHaveLength(1)
  })

  test('saves are carried out one after the other', async () => {
    const host = await build()
    const names = ['a', 'b', 'c', 'd']
    const saved = await Promise.all(
      names.map((AGENT_NAME) => host.save({ ...good, AGENT_NAME }, false, hasToken)),
    )
    expect(saved.map(({ kind }) => kind)).toEqual(names.map(() => 'saved'))
    expect(await answer(host)).toBe('d')
    expect(readConfigFile(dataDir).values.AGENT_NAME).toBe('d')
    await host.close()
    expect(closed.sort()).toEqual(names)
  })

  test('a configuration that is saved while the first gateway still waits for its store wins', async () => {
    writeConfigFile(dataDir, { ...good, AGENT_NAME: 'waiting' })
    failures = Array.from({ length: 50 }, () => new UnavailableError('the database'))
    const host = await build()
    const started = host.start()
    failures.length = 1
    await new Promise((turn) => setImmediate(turn))
    failures = []
    expect(await host.save({ ...good, AGENT_NAME: 'saved' }, false, hasToken)).toMatchObject({
      kind: 'saved',
    })
    await started
    expect(await answer(host)).toBe('saved')
  })
})
