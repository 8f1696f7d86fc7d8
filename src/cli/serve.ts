import { boot } from '../server/boot.ts'
import { readableLog } from './readable-log.ts'
import { faultsOf } from './terminal.ts'

/** Runs the standalone server until a signal ends it. */
export async function runServe(): Promise<void> {
  let server: { close(): Promise<void> } | undefined
  let closing = false
  const stop = (): void => {
    // Before it runs there is nothing to finish. A second signal ends it at once.
    if (!server || closing) process.exit(closing ? 1 : 0)
    closing = true
    server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // Programs that collect logs read JSON; a person at a terminal does not.
  const show = (line: string) => void process.stdout.write(readableLog(line))
  try {
    server = await boot(process.env, process.stdout.isTTY ? { print: show, log: show } : {})
  } catch (cause) {
    for (const line of faultsOf(cause)) console.error(line)
    // What a start that failed left behind, or a module that the operator loads beside it, must not keep a process alive that
    // sells nothing: whoever supervises it would never start it again. All that was written leaves first.
    process.stdout.write('', () => process.stderr.write('', () => process.exit(1)))
  }
}
