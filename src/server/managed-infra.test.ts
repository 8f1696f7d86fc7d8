import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readServerSettings } from '../config/server-variables.ts'
import { type FindHost, findManagedInfra, rememberManagedInfra } from './managed-infra.ts'

let dataDir: string
let warnings: string[]
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-infra-'))
  warnings = []
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const shows =
  (...hosts: string[]): FindHost =>
  async (name) =>
    hosts.includes(name) ? 'found' : 'absent'
const blip: FindHost = async () => 'unknown'

function find(findHost: FindHost, env: Record<string, string> = {}, records = false) {
  const { settings } = readServerSettings(env, () => '')
  return findManagedInfra({
    settings,
    dataDir,
    findHost,
    embeddedHoldsRecords: async () => records,
    warn: (message) => warnings.push(message),
  })
}

const POSTGRES = 'postgres://paystile:paystile@postgres:5432/paystile'
const REDIS = 'redis://redis:6379/0'

describe('findManagedInfra', () => {
  test('what DNS shows is used', async () => {
    expect((await find(shows())).urls).toEqual({})
    expect((await find(shows('redis'))).urls).toEqual({ REDIS_URL: REDIS })
    expect((await find(shows('postgres'))).urls).toEqual({ DATABASE_URL: POSTGRES })
    expect((await find(shows('redis', 'postgres'))).urls).toEqual({
      DATABASE_URL: POSTGRES,
      REDIS_URL: REDIS,
    })
    expect((await find(blip)).urls).toEqual({})
  })

  test('SVC_MANAGED_INFRA overrides DNS and what was used before, without asking', async () => {
    const asked: FindHost = () => Promise.reject(new Error('asked'))
    rememberManagedInfra(dataDir, await find(shows('redis')))
    const by = async (words: string) => Object.keys((await find(asked, { SVC_MANAGED_INFRA: words })).urls)
    expect(await by('none')).toEqual([])
    expect(await by('postgres')).toEqual(['DATABASE_URL'])
    expect(await by('redis, postgres')).toEqual(['DATABASE_URL', 'REDIS_URL'])
  })

  test('user, password and database are the defaults of the official images, escaped', async () => {
    const env = { POSTGRES_USER: 'u', POSTGRES_PASSWORD: 'p@ss/w:rd', POSTGRES_DB: 'd', REDIS_PASSWORD: 's#' }
    expect((await find(shows('redis', 'postgres'), env)).urls).toEqual({
      DATABASE_URL: 'postgres://u:p%40ss%2Fw%3Ard@postgres:5432/d',
      REDIS_URL: 'redis://:s%23@redis:6379/0',
    })
  })

  test('a server that used Redis keeps using it when DNS fails for a moment and when a Postgres appears', async () => {
    rememberManagedInfra(dataDir, await find(shows('redis')))
    for (const findHost of [blip, shows(), shows('postgres'), shows('redis', 'postgres')]) {
      expect((await find(findHost)).urls).toEqual({ REDIS_URL: REDIS })
    }
  })

  test('an embedded store with records stays in use although DNS shows another store', async () => {
    expect((await find(shows('postgres'), {}, true)).urls).toEqual({})
    expect(warnings).toEqual([expect.stringContaining('holds records of payments')])
    expect((await find(shows('postgres'), { SVC_MANAGED_INFRA: 'postgres' }, true)).urls).toEqual({
      DATABASE_URL: POSTGRES,
    })
  })

  test('none is not remembered as a choice: a store may be added later', async () => {
    rememberManagedInfra(dataDir, await find(shows('redis')))
    rememberManagedInfra(dataDir, await find(shows(), { SVC_MANAGED_INFRA: 'none' }))
    expect((await find(shows('postgres'))).urls).toEqual({ DATABASE_URL: POSTGRES })
  })
})
