import { ConfigError } from '../errors.ts'
import { boot } from '../server/boot.ts'
import { readableLog } from './readable-log.ts'

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

/** The standalone server, until a signal ends it. */
export async function runServe(): Promise<void> {
  let server: { close(): Promise<void> } | undefined
  let closing = false
  const stop = (): void => {
    // Before it runs there is nothing to finish. A second signal means "now".
    if (!server || closing) process.exit(closing ? 1 : 0)
    closing = true
    server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  await reportingFaults(async () => {
    // Programs that collect logs read JSON; a person at a terminal does not.
    const show = (line: string) => void process.stdout.write(readableLog(line))
    server = await boot(process.env, process.stdout.isTTY ? { print: show, log: show } : {})
  })
}
