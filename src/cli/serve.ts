import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { optionsFromEnv } from '../config/from-env.ts'
import { ConfigError, UnavailableError } from '../errors.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import { serveHttp } from '../server/serve-http.ts'

/** How long requests in flight may still take after SIGTERM; what is not settled then is finished after the next start. */
const GRACE_MS = 25_000
const BOOT_ATTEMPTS = 60

/** The standalone server, from the environment. Resolves once it accepts requests. */
export async function serve(env: NodeJS.ProcessEnv): Promise<{ close(): Promise<void> }> {
  const { options, source, port } = optionsFromEnv(env, (path) => readFileSync(path, 'utf8'))
  const gateway = await openGateway(options, source)
  const server = await listen(port, gateway.fetch, options.trustProxy ?? false)
  const { plans, network, walletAddress } = gateway.discovery
  say({
    level: 'info',
    message: 'ready',
    url: options.baseUrl,
    port: server.port,
    network,
    walletAddress,
    plans: plans.length,
  })
  return {
    async close() {
      await server.close(GRACE_MS)
      await gateway.close()
    },
  }
}

/** A database that starts beside us may need longer than we do; one that stays away is an error. */
async function openGateway(...[options, source]: Parameters<typeof createGateway>): Promise<Gateway> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await createGateway(options, source)
    } catch (cause) {
      if (!(cause instanceof UnavailableError) || attempt === BOOT_ATTEMPTS) throw cause
      say({ level: 'warn', message: `${cause.message}; trying again (${attempt} of ${BOOT_ATTEMPTS})` })
      await sleep(1000)
    }
  }
}

async function listen(
  port: number,
  handler: Parameters<typeof serveHttp>[0]['handler'],
  trustProxy: boolean,
) {
  try {
    return await serveHttp({ handler, port, trustProxy })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be opened (${code})`
    throw new ConfigError([`PORT ${port} ${why}; set PORT to a free one, for example 3001.`])
  }
}

function say(entry: Record<string, unknown>): void {
  console.log(JSON.stringify({ time: new Date().toISOString(), ...entry }))
}

/** Runs a command: configuration faults are lines, never a stack trace. */
export async function reportingFaults(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (cause) {
    const lines =
      cause instanceof ConfigError ? cause.faults : [cause instanceof Error ? cause.message : String(cause)]
    for (const line of lines) console.error(line)
    process.exitCode = 1
  }
}

export async function runServe(): Promise<void> {
  await reportingFaults(async () => {
    const server = await serve(process.env)
    let closing = false
    const stop = (): void => {
      // A second signal means "now".
      if (closing) process.exit(1)
      closing = true
      server.close().then(
        () => process.exit(0),
        () => process.exit(1),
      )
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
