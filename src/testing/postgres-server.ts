import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { createData, type Owner, ownFolder } from './postgres-data.ts'
import { runAtParentsEnd } from './run-at-parents-end.ts'

/** Every character needs percent-encoding, so that all tests prove that such passwords work. */
const PASSWORD = 'p@ss:w/rd?#% é'
const START_LIMIT_MS = 30_000
const PORT_TRIES = 5

/** A private PostgreSQL server: its own port, data folder and password. */
export interface PostgresServer {
  readonly url: string
  readonly port: number
  /** Holds its data, and is deleted with it. */
  readonly folder: string
  /** Ends the server and deletes its data. */
  stop(): Promise<void>
  /** Like a power failure: all its processes end at once. The data stay. */
  kill(): Promise<void>
  /** Starts it again on the same data and port, after a kill or after shutting it down. */
  restart(): Promise<void>
  /** Stops its processes: connections stay open, and nothing is answered. */
  freeze(): void
  thaw(): void
}

/**
 * Starts a PostgreSQL server of our own; never touches one that runs on this machine. It ends with this process.
 *
 * @param options.fsync off is faster, and loses data in a power failure. Default true.
 * @param options.tls Certificate and key as PEM text, to speak TLS.
 * @param options.programs Where Debian's versions are, beside PATH. Default /usr/lib/postgresql.
 * @example
 * import { createGateway } from 'paystile'
 *
 * const server = await startPostgres()
 * const gateway = await createGateway({ walletAddress: '0x…', databaseUrl: server.url })
 */
export async function startPostgres({
  fsync = true,
  tls,
  programs: debian,
}: {
  fsync?: boolean
  programs?: string
  tls?: { cert: string; key: string }
} = {}): Promise<PostgresServer> {
  const programs = findPostgres(debian)
  const user = serverUser()
  const folder = ownFolder(user)
  const data = join(folder, 'data')
  const as = { ...user, cwd: folder }
  const writeOwn = async (name: string, text: string) => {
    const file = join(folder, name)
    await writeFile(file, text, { mode: 0o600 })
    if (user) chownSync(file, user.uid, user.gid)
    return file
  }
  try {
    await createData(data, { programs, password: PASSWORD, owner: user })
  } catch (cause) {
    await rm(folder, { recursive: true, force: true })
    throw cause
  }

  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: fsync ? 'on' : 'off',
    shared_buffers: '64MB',
    max_connections: '60',
    ...(tls && {
      ssl: 'on',
      ssl_cert_file: await writeOwn('cert.pem', tls.cert),
      ssl_key_file: await writeOwn('key.pem', tls.key),
    }),
  }
  const start = (port: number) => {
    const flags = Object.entries({ ...settings, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    return startServer(join(programs, 'postgres'), ['-D', data, ...flags], as, folder)
  }
  let running: RunningServer | undefined
  let port = 0
  for (let turn = 1; running === undefined; turn++) {
    // Another process may take the port before the server does.
    port = await freePort()
    running = await start(port).catch(async (error: unknown) => {
      if (turn < PORT_TRIES && String(error).includes('Address already in use')) return undefined
      await rm(folder, { recursive: true, force: true })
      throw error
    })
  }
  let server: RunningServer = running

  return {
    url: `postgres://paystile:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    port,
    folder,
    async stop() {
      await server.end('SIGINT')
      await rm(folder, { recursive: true, force: true })
    },
    kill: () => server.end('SIGKILL'),
    async restart() {
      await server.end('SIGINT')
      server = await start(port)
    },
    freeze() {
      // The parent first, or it would restart the others.
      for (const pid of server.pids()) signal(pid, 'SIGSTOP')
    },
    thaw() {
      for (const pid of server.pids().reverse()) signal(pid, 'SIGCONT')
    },
  }
}

export interface RunningServer {
  /** The server and the processes that it started, itself first. */
  pids(): number[]
  /** Resolves when all its processes are gone. */
  end(how: 'SIGINT' | 'SIGKILL'): Promise<void>
}

export type RunAs = { uid?: number; gid?: number; cwd: string }

export async function startServer(
  program: string,
  args: string[],
  as: RunAs,
  folder: string,
): Promise<RunningServer> {
  const child = spawn(program, args, { ...as, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const forget = endWithParent(child, folder)
  const pids = () =>
    child.pid === undefined || child.exitCode !== null ? [] : [child.pid, ...childrenOf(child.pid)]
  const end: RunningServer['end'] = async (how) => {
    child.ref()
    const all = pids()
    if (how === 'SIGKILL') for (const pid of all) signal(pid, 'SIGKILL')
    else {
      for (const pid of all) signal(pid, 'SIGCONT')
      child.kill('SIGINT')
    }
    const hammer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    if (child.exitCode === null && child.signalCode === null) await exited
    clearTimeout(hammer)
    // A new server refuses the data while a process of the old one is left.
    while (all.some(isAlive)) await sleep(5)
    forget?.()
  }
  try {
    await ready(child)
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
  child.unref()
  return { pids, end }
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const said: string[] = []
    const give = (why: string) =>
      reject(new Error(`postgres did not start (${why}): ${said.join(' ').slice(-800)}`))
    const limit = setTimeout(() => give('no answer'), START_LIMIT_MS)
    // Keeps reading: a full pipe would block the server.
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (said.length < 100) said.push(line)
      if (!/database system is ready to accept (read-only )?connections/.test(line)) return
      clearTimeout(limit)
      ;(child.stderr as { unref?: () => void } | null)?.unref?.()
      resolve()
    })
    child.once('error', (cause) => give(cause.message))
    child.once('close', (code, name) => {
      clearTimeout(limit)
      give(name ?? `exit code ${code}`)
    })
  })
}

/**
 * Ends the server when this process ends, in whatever way, and deletes its folder. All processes of the server are killed:
 * one that is frozen would not end otherwise, and might hold the port.
 */
function endWithParent(server: ChildProcess, folder: string): (() => void) | undefined {
  if (server.pid === undefined) return undefined
  const command = `own=$(ps -e -o pid=,ppid= | while read -r pid parent; do [ "$parent" != "$1" ] || echo "$pid"; done)
    kill -QUIT "$1"; kill -CONT "$1" $own; sleep 1; kill -KILL "$1" $own; rm -rf "$2"`
  return runAtParentsEnd(command, String(server.pid), folder)
}

/** The folder that has all of PostgreSQL's programs. */
export function findPostgres(debian = '/usr/lib/postgresql'): string {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(debian, version, 'bin')),
  ]
  const found = folders.find((folder) =>
    ['initdb', 'postgres'].every((name) => isProgram(join(folder, name))),
  )
  if (found === undefined) {
    throw new Error('PostgreSQL is missing: cannot find initdb. On Debian: apt-get install postgresql')
  }
  // PATH may hold links to a few of the programs; all of them are where the links lead.
  return dirname(realpathSync(join(found, 'initdb')))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** PostgreSQL refuses to run as root. */
export function serverUser(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = ['postgres', 'nobody'].flatMap((name) => users.filter(([found]) => found === name))[0]
  if (user === undefined)
    throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

function childrenOf(pid: number): number[] {
  try {
    const listed = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    const pairs = listed
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
    return pairs.flatMap(([child, parent]) => (parent === pid ? [child!] : []))
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    // A zombie process has no command line.
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
      ? process.kill(pid, 0)
      : false
  } catch {
    return false
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has just ended.
  }
}
