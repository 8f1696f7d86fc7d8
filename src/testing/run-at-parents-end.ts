import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Runs a shell command when this process ends, even by SIGKILL: a small shell reads from a pipe to us that nothing is ever
 * written to, and the kernel closes that pipe when we end. `$0`, `$1` and so on are `args`. Kill the returned shell when
 * the command is no longer needed. Where there is no /bin/sh, as on Windows, nothing is run.
 */
export function runAtParentsEnd(command: string, ...args: string[]): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', `read -r _\n${command}`, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watcher.on('error', () => {})
  watcher.unref()
  unrefStream(watcher.stdin)
  return watcher
}

/** Lets this process end while the stream of a child is open. Such streams are sockets, which their types do not say. */
export function unrefStream(stream: unknown): void {
  ;(stream as { unref?: () => void } | null)?.unref?.()
}
