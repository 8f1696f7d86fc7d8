import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConfigFile, writeConfigFile } from '../config/config-file.ts'
import { ConfigError, UnavailableError } from '../errors.ts'
import { loadConfiguration } from './boot-config.ts'
import { createHouse } from './boot-house.ts'
import type { Tenant } from './boot-tenant.ts'
import type { FindHost } from './managed-infra.ts'

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
/** What the next openings throw. */
let failures: Error[]
let records: boolean
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-house-'))
  opened = []
  closed = []
  warnings = []
  failures = []
  records = false
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

/** A house whose gateways are stand-ins: what they do is not the point, but whether they start. */
async function build(env: Record<string, string> = {}, findHost = nowhere) {
  const warn = (message: string) => void warnings.push(message)
  const loaded = await loadConfiguration({ DATA_DIR: dataDir, ...env }, { warn, findHost })
  return createHouse({
    loaded,
    warn,
    retryMs: 1,
    onChange: () => {},
    async open(configuration) {
      const failure = failures.shift()
      if (failure) throw failure
      const name = configuration.config!.agentName
      opened.push(name)
      return {
        configuration,
        gateway: { backstage: { store: { log: async () => (records ? [{}] : []) } } },
        enter: () => {},
        leave: () => {},
        answer: async () => new Response(name),
        close: async () => void closed.push(name),
      } as unknown as Tenant
    },
  })
}
const answer = async (house: Awaited<ReturnType<typeof build>>) =>
  (await house.slot.answer(new Request('http://x/'), {})).text()

describe('start', () => {
  test('nothing configured waits for setup', async () => {
    const house = await build()
    await house.start()
    expect([house.phase(), opened]).toEqual(['setup', []])
  })

  test('a store that is late is waited for, and setup is never reopened meanwhile', async () => {
    writeConfigFile(dataDir, shared)
    await writeFile(join(dataDir, 'managed-infra'), 'redis\n')
    failures = [new UnavailableError('redis'), new UnavailableError('redis'), new UnavailableError('redis')]
    const house = await build({}, async () => 'unknown')
    expect(house.configuration().config?.store).toMatchObject({ kind: 'redis', url: 'redis://redis:6379/0' })
    const phases = new Set([house.phase()])
    const started = house.start()
    while (opened.length === 0) {
      phases.add(house.phase())
      await new Promise((turn) => setTimeout(turn, 1))
    }
    await started
    expect([...phases]).toEqual(['starting'])
    expect(house.phase()).toBe('live')
    expect(warnings).toHaveLength(3)
  })

  test('what a DNS name adds to an unfinished configuration is explained', async () => {
    writeConfigFile(dataDir, good)
    const house = await build({}, async (name) => (name === 'postgres' ? 'found' : 'absent'))
    await house.start()
    expect(house.phase()).toBe('setup')
    expect(house.configuration().missing).toEqual([
      expect.stringMatching(
        /^SVC_SECRET_KEY is missing.*postgres runs beside this server; SVC_MANAGED_INFRA=none/,
      ),
    ])
  })

  test('a fault that shows at the start opens setup if it was saved, and ends the server otherwise', async () => {
    writeConfigFile(dataDir, { ...good, RPC_URL: 'http://rpc.example' })
    const fault = 'RPC_URL answers chainId 1; eip155:84532 has 84532.'
    failures = [new ConfigError([fault])]
    const house = await build()
    await house.start()
    expect([house.phase(), house.fileFaults()]).toEqual(['setup', [fault]])
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

const trusted = () => undefined

describe('save', () => {
  test('attack 40: wallet, keys and address change only for whoever has the token; nobody asks before it sells', async () => {
    const doubt = { error: 'It is ADMIN_TOKEN.' }
    let asked = 0
    const doubting = () => {
      asked += 1
      return doubt
    }
    const house = await build()
    expect(await house.save({ ...good, AGENT_NAME: 'one' }, false, doubting)).toMatchObject({ kind: 'saved' })
    expect(await house.save({ ...good, AGENT_NAME: 'two' }, false, doubting)).toMatchObject({ kind: 'saved' })
    expect(asked).toBe(0)
    const stolen = {
      ...good,
      SVC_WALLET_ADDRESS: `0x${'66'.repeat(20)}`,
      ADMIN_TOKEN: 'the thief’s own token',
    }
    expect(await house.save(stolen, true, doubting)).toEqual({
      kind: 'unproven',
      names: ['SVC_WALLET_ADDRESS', 'ADMIN_TOKEN'],
      doubt,
    })
    expect(readConfigFile(dataDir).values).toEqual({ ...good, AGENT_NAME: 'two' })
    expect(await answer(house)).toBe('two')
    expect(await house.save({ ...stolen, AGENT_NAME: 'three' }, false, trusted)).toMatchObject({
      kind: 'saved',
    })
  })

  test('a printed token is not used up by what could not be saved anyway', async () => {
    const house = await build()
    await house.save(good, false, trusted)
    let asked = 0
    const doubt = () => {
      asked += 1
      return undefined
    }
    records = true
    const mainnet = { ...good, SVC_NETWORK: 'mainnet', GAS_WALLET_PRIVATE_KEY: 'ab'.repeat(32) }
    expect(await house.save({ ...good, SVC_WALLET_ADDRESS: '0x12' }, false, doubt)).toMatchObject({
      kind: 'faulty',
    })
    expect(await house.save(mainnet, false, doubt)).toMatchObject({ kind: 'unconfirmed' })
    expect(asked).toBe(0)
    expect(await house.save(mainnet, true, doubt)).toMatchObject({ kind: 'saved' })
    expect(asked).toBe(1)
  })

  test('the next gateway takes over and the file is written', async () => {
    const house = await build()
    await house.start()
    expect(await house.save({ ...good, AGENT_NAME: 'one' }, false, trusted)).toMatchObject({ kind: 'saved' })
    expect(await answer(house)).toBe('one')
    expect(await house.save({ ...good, AGENT_NAME: 'two' }, false, trusted)).toMatchObject({ kind: 'saved' })
    expect(await answer(house)).toBe('two')
    await house.slot.close()
    expect(closed).toEqual(['one', 'two'])
    expect(readConfigFile(dataDir).values).toEqual({ ...good, AGENT_NAME: 'two' })
  })

  test('a gateway that cannot start, or a file that cannot be written, changes nothing', async () => {
    const house = await build()
    await house.save({ ...good, AGENT_NAME: 'one' }, false, trusted)
    failures = [new UnavailableError('the database')]
    expect(await house.save({ ...good, AGENT_NAME: 'two' }, false, trusted)).toEqual({
      kind: 'failed',
      error: expect.stringContaining('the database is unavailable'),
    })
    failures = [new ConfigError(['RPC_URL answers chainId 1.'])]
    expect(await house.save({ ...good, AGENT_NAME: 'two' }, false, trusted)).toEqual({
      kind: 'faulty',
      faults: [{ name: 'RPC_URL', message: 'RPC_URL answers chainId 1.' }],
      missing: [],
    })
    expect(await house.save({ AGENT_NAME: 'two' }, false, trusted)).toMatchObject({
      kind: 'faulty',
      missing: [{ name: 'SVC_WALLET_ADDRESS' }, { name: 'PLANS' }, { name: 'TOKEN_SECRET' }],
    })
    await rm(dataDir, { recursive: true })
    await writeFile(dataDir, '')
    expect(await house.save({ ...good, AGENT_NAME: 'three' }, false, trusted)).toMatchObject({
      kind: 'failed',
    })
    expect(await answer(house)).toBe('one')
    expect(closed).toEqual(['three'])
  })

  test('records are not left behind without a word', async () => {
    const house = await build()
    await house.save(good, false, trusted)
    const elsewhere = { ...shared, DATABASE_URL: 'postgres://u:hunter2@db/shop' }
    const mainnet = { ...good, SVC_NETWORK: 'mainnet', GAS_WALLET_PRIVATE_KEY: 'ab'.repeat(32) }
    records = true
    const asked = await house.save(elsewhere, false, trusted)
    expect(asked).toEqual({
      kind: 'unconfirmed',
      reasons: [expect.stringMatching(/embedded store in .*; with postgres:\/\/u@db:5432\/shop/)],
    })
    expect(await house.save(mainnet, false, trusted)).toMatchObject({ kind: 'unconfirmed' })
    expect(await house.save({ ...good, AGENT_NAME: 'other' }, false, trusted)).toMatchObject({
      kind: 'saved',
    })
    expect(await house.save(mainnet, true, trusted)).toMatchObject({ kind: 'saved' })
    records = false
    expect(await house.save(good, false, trusted), 'nothing to leave').toMatchObject({ kind: 'saved' })
  })

  test('saves come one after the other', async () => {
    const house = await build()
    const names = ['a', 'b', 'c', 'd']
    const saved = await Promise.all(
      names.map((AGENT_NAME) => house.save({ ...good, AGENT_NAME }, false, trusted)),
    )
    expect(saved.map(({ kind }) => kind)).toEqual(names.map(() => 'saved'))
    expect(await answer(house)).toBe('d')
    expect(readConfigFile(dataDir).values.AGENT_NAME).toBe('d')
    await house.slot.close()
    expect(closed.sort()).toEqual(names)
  })

  test('what is saved while the first gateway still waits for its store counts', async () => {
    writeConfigFile(dataDir, { ...good, AGENT_NAME: 'waiting' })
    failures = Array.from({ length: 50 }, () => new UnavailableError('the database'))
    const house = await build()
    const started = house.start()
    failures.length = 1
    await new Promise((turn) => setImmediate(turn))
    failures = []
    expect(await house.save({ ...good, AGENT_NAME: 'saved' }, false, trusted)).toMatchObject({
      kind: 'saved',
    })
    await started
    expect(await answer(house)).toBe('saved')
  })
})
