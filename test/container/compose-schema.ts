import { z } from 'zod'

/**
 * The part of the Compose specification that docker/*.yaml use, and nothing beyond it: a misspelt or misplaced key is a
 * fault. `npm run container:test` has Compose itself read the same files.
 */
const duration = z.string().regex(/^\d+(ms|s|m|h)$/)
const name = z.string().regex(/^[a-zA-Z0-9._-]+$/)
const size = z.string().regex(/^\d+[kmg]$/)
const environment = z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), z.string())

const Healthcheck = z.strictObject({
  test: z.tuple([z.literal('CMD')], z.string()),
  interval: duration,
  timeout: duration,
  retries: z.int().positive(),
  start_period: duration.optional(),
})

const Service = z.strictObject({
  extends: z.strictObject({ file: z.string(), service: name }).optional(),
  image: z.string().optional(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  user: name.optional(),
  command: z.array(z.string()).optional(),
  environment: environment.optional(),
  env_file: z.array(z.strictObject({ path: z.string(), required: z.boolean() })).optional(),
  ports: z.array(z.string().regex(/^[^:]+(:-\d+})?:[^:]+(:-\d+})?$/)).optional(),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)).optional(),
  networks: z.array(name).optional(),
  depends_on: z.record(name, z.strictObject({ condition: z.literal('service_healthy') })).optional(),
  healthcheck: Healthcheck.optional(),
  restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']).optional(),
  stop_grace_period: duration.optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string().regex(/^\/[\w./-]+(:[\w=,]+)?$/)).optional(),
  cap_drop: z.array(z.string().regex(/^[A-Z_]+$/)).optional(),
  security_opt: z.array(z.string()).optional(),
  pids_limit: z.int().positive().optional(),
  shm_size: size.optional(),
  logging: z.strictObject({ driver: z.string() }).optional(),
})

export const ComposeFile = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/),
  services: z.record(name, Service),
  networks: z.record(name, z.strictObject({ internal: z.boolean() })).optional(),
  volumes: z.record(name, z.strictObject({})),
})
export type ComposeFile = z.infer<typeof ComposeFile>
export type ComposeService = z.infer<typeof Service>
