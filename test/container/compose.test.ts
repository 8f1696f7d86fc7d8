import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readServerSettings } from '../../src/config/server-variables.ts'
import { findManagedInfra } from '../../src/server/managed-infra.ts'
import { ComposeFile, type ComposeService } from './compose-schema.ts'

const FILES = ['compose.yaml', 'compose.redis.yaml', 'compose.postgres.yaml'] as const
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const open = (file: string): ComposeFile => ComposeFile.parse(parse(read(`docker/${file}`)))

/** A service with its `extends` resolved. */
function complete(service: ComposeService): ComposeService {
  if (!service.extends) return service
  const base = complete(open(service.extends.file).services[service.extends.service]!)
  return { ...base, ...service, environment: { ...base.environment, ...service.environment } }
}

describe.each(FILES)('docker/%s', (file) => {
  const services = () => Object.entries(open(file).services).map(([id, own]) => ({ id, ...complete(own) }))

  test('is valid, and what it refers to is declared', () => {
    const { volumes, networks = {} } = open(file)
    for (const service of services()) {
      const named = service.volumes
        ?.map((entry) => entry.split(':')[0]!)
        .filter((source) => !source.startsWith('.'))
      for (const source of named ?? []) expect(Object.keys(volumes), service.id).toContain(source)
      for (const network of service.networks ?? [])
        expect(['default', ...Object.keys(networks)]).toContain(network)
      for (const other of Object.keys(service.depends_on ?? {}))
        expect(open(file).services[other]).toBeDefined()
    }
  })

  test('every service is confined, is restarted, keeps its data in a volume and tells its health', () => {
    for (const service of services()) {
      expect(service, service.id).toMatchObject({
        restart: 'unless-stopped',
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        logging: { driver: 'local' },
      })
      expect(service.tmpfs, service.id).not.toHaveLength(0)
      expect(service.volumes, service.id).not.toHaveLength(0)
      // The image of paystile has both.
      if (service.id !== 'paystile') {
        expect(service.healthcheck, service.id).toBeDefined()
        expect(service.user, service.id).toMatch(/^(redis|postgres)$/)
      }
    }
  })

  test('only paystile is reachable from outside', () => {
    const { networks } = open(file)
    for (const service of services()) {
      if (service.id === 'paystile') continue
      expect(service.ports).toBeUndefined()
      expect(service.networks).toEqual(['store'])
      expect(networks?.store).toEqual({ internal: true })
    }
  })

  test('every variable that it names is in docs/configuration.md', () => {
    const page = read('docs/configuration.md')
    const text = read(`docker/${file}`)
    const stated = services().flatMap(({ environment = {} }) => Object.keys(environment))
    const mentioned = [...text.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)].map((match) => match[1]!)
    for (const variable of new Set([...stated, ...mentioned])) {
      expect(page, variable).toContain(`\`${variable.replace(/_FILE$/, '')}\``)
    }
  })
})

test('Redis in docker/compose.redis.yaml keeps every write and evicts nothing', () => {
  const { command } = open('compose.redis.yaml').services.redis!
  const setting = (name: string) => command?.[command.indexOf(`--${name}`) + 1]
  expect(['appendonly', 'appendfsync', 'maxmemory-policy'].map(setting)).toEqual([
    'yes',
    'always',
    'noeviction',
  ])
})

test.each([
  ['compose.redis.yaml', { REDIS_URL: 'redis://redis:6379/0' }],
  ['compose.postgres.yaml', { DATABASE_URL: 'postgres://paystile:a%2Fb@postgres:5432/paystile' }],
])(
  'the server finds the store of docker/%s by its name, with the credentials given there',
  async (file, urls) => {
    const { paystile, ...stores } = open(file).services
    const filled = (service: ComposeService | undefined) =>
      Object.fromEntries(
        Object.entries(service?.environment ?? {}).map(([name, value]) => [
          name,
          value.replace(/^\${.*}$/, 'a/b'),
        ]),
      )
    const [store] = Object.values(stores)
    expect(filled(paystile)).toEqual(filled(store))
    const { settings, faults } = readServerSettings(filled(paystile), () => '')
    expect(faults).toEqual([])
    const answer = await findManagedInfra({
      settings,
      dataDir: '/nonexistent',
      findHost: async (host) => (host in stores ? 'found' : 'absent'),
      embeddedHoldsRecords: async () => false,
      warn: () => {},
    })
    expect(answer.urls).toEqual(urls)
  },
)
