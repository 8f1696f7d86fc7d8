import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Holds a script for each command that is due, and is watched by one shell. */
let folder: string | undefined
let commands = 0

/**
 * Runs a shell command when this process ends, even by SIGKILL: a small shell, one for all commands, reads from a pipe to us
 * that nothing is ever written to, and the kernel closes that pipe when we end. `$1`, `$2` and so on are `args`. Call what is
 * returned when the command is no longer needed. Where there is no /bin/sh, as on Windows, nothing is run.
 */
export function runAtParentsEnd(command: string, ...args: string[]): () => void {
  if (process.platform === 'win32') return () => {}
  folder ??= watchedFolder()
  const script = join(folder, String(++commands))
  const words = args.map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  writeFileSync(script, `set -- ${words.join(' ')}\n${command}\n`, { mode: 0o600 })
  return () => rmSync(script, { force: true })
}

function watchedFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'paystile-ends-'))
  // All at the same time: one may wait for its server.
  const all =
    'read -r _; for script in "$0"/*; do [ ! -f "$script" ] || sh "$script" & done; wait; rm -rf "$0"'
  const watcher: ChildProcess = spawn('/bin/sh', ['-c', all, path], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watcher.on('error', () => {})
  watcher.unref()
  unrefStream(watcher.stdin)
  return path
}

/** Lets this process end while the stream of a child is open. Such streams are sockets, which their types do not say. */
export function unrefStream(stream: unknown): void {
  ;(stream as { unref?: () => void } | null)?.unref?.()
}
