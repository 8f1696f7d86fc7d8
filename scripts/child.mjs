import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP']
const ownGroup = process.platform !== 'win32'

// If this process is killed, the child loses its IPC channel, and then ends itself and its group.
const exitWithParent = `data:text/javascript,${encodeURIComponent(`
  process.channel?.unref()
  process.on('disconnect', () => {
    process.on('exit', () => { try { process.kill(-process.pid, 'SIGKILL') } catch {} })
    process.kill(process.pid, 'SIGTERM')
  })
`)}`

/**
 * Runs a program to its end, and ends everything that it started.
 *
 * The child gets a process group of its own: it gets a Ctrl-C once, from us, and processes that it started and left
 * running are ended with it. With `capture` its output is returned instead of shown.
 *
 * @returns {Promise<{ code: number, output: string, interrupted: boolean }>}
 */
export function runChild(command, args, { capture = false, ipc = false, cwd, env } = {}) {
  return new Promise((resolve) => {
    const streams = capture ? ['ignore', 'pipe', 'pipe'] : ['inherit', 'inherit', 'inherit']
    const child = spawn(command, args, {
      cwd,
      env: env ?? process.env,
      stdio: ipc ? [...streams, 'ipc'] : streams,
      detached: ownGroup,
    })
    const output = []
    child.stdout?.on('data', (chunk) => output.push(chunk))
    child.stderr?.on('data', (chunk) => output.push(chunk))

    let interrupted = false
    let lastForwardMs = Number.NEGATIVE_INFINITY
    const forward = (signal) => {
      // The terminal and npm both send us the same Ctrl-C: pass it on once.
      if (performance.now() - lastForwardMs < 300) return
      lastForwardMs = performance.now()
      interrupted = true
      signalGroup(child, signal)
    }
    const endLeftovers = () => signalGroup(child, 'SIGKILL')
    for (const signal of forwarded) process.on(signal, forward)
    process.on('exit', endLeftovers)

    let settled = false
    const settle = (code) => {
      if (settled) return
      settled = true
      for (const signal of forwarded) process.off(signal, forward)
      process.off('exit', endLeftovers)
      resolve({ code, output: Buffer.concat(output).toString(), interrupted })
    }
    child.on('error', (error) => {
      output.push(Buffer.from(`${error.message}\n`))
      settle(127)
    })
    // A leftover grandchild would keep captured pipes open, so it is ended before we wait for 'close'.
    child.on('exit', endLeftovers)
    child.on('close', (code, signal) => settle(code ?? 128 + (constants.signals[signal] ?? 0)))
  })
}

/** Runs a Node program in the foreground and exits with its code. */
export async function becomeNode(file, args) {
  const { code } = await runChild(
    process.execPath,
    ['--enable-source-maps', '--import', exitWithParent, file, ...args],
    { ipc: true },
  )
  process.exit(code)
}

function signalGroup(child, signal) {
  if (child.pid === undefined) return
  try {
    process.kill(ownGroup ? -child.pid : child.pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error
  }
}
