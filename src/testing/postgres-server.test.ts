import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { findPostgres, startPostgres } from './postgres-server.ts'

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
    // The server does not accept connections and the backlog is full, but the port is still open.
    socket.setTimeout(1000, () => {
      socket.destroy()
      resolve(true)
    })
  })
}

/** Processes whose working directory is this folder; known on Linux only. */
function processesIn(folder: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
    } catch {
      return false
    }
  })
}

test('a server is stopped, killed and started again on the same port', async () => {
  const server = await startPostgres({ fsync: false })
  expect(await answers(server.port)).toBe(true)
  await server.kill()
  expect(await answers(server.port)).toBe(false)
  await server.restart()
  expect(await answers(server.port)).toBe(true)
  server.freeze()
  server.thaw()
  await server.restart()
  expect(await answers(server.port)).toBe(true)
  await server.stop()
  expect(await answers(server.port)).toBe(false)
})

test('two servers are independent', async () => {
  const [one, two] = await Promise.all([startPostgres({ fsync: false }), startPostgres({ fsync: false })])
  expect(one.port).not.toBe(two.port)
  await one.stop()
  expect(await answers(two.port)).toBe(true)
  await two.stop()
})

test.each(['kill', 'freeze'])('it ends with its parent and leaves no data behind (%s)', async (how) => {
  // The compiled file: `npm test` builds before it tests.
  const built = new URL('../../dist/testing/postgres-server.js', import.meta.url)
  const source = `import { startPostgres } from '${built}'
    const server = await startPostgres({ fsync: false })
    if ('${how}' === 'freeze') server.freeze()
    console.log(JSON.stringify([server.port, server.folder]))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).once('line', resolve)
  })
  const [port, folder] = JSON.parse(line) as [number, string]
  expect(existsSync(folder)).toBe(true)
  if (process.platform === 'linux') expect(processesIn(folder).length).toBeGreaterThan(1)
  child.kill('SIGKILL')
  await expect.poll(() => answers(port), { timeout: 60_000 }).toBe(false)
  await expect.poll(() => existsSync(folder), { timeout: 60_000 }).toBe(false)
  await expect.poll(() => processesIn(folder), { timeout: 60_000 }).toEqual([])
})

test('where PATH has links to some programs, the folder with all of them is found', () => {
  const { PATH } = process.env
  const programs = findPostgres()
  const folder = mkdtempSync(join(tmpdir(), 'paystile-links-'))
  try {
    for (const name of ['initdb', 'postgres']) symlinkSync(join(programs, name), join(folder, name))
    process.env.PATH = folder
    expect(findPostgres('/nowhere/at-all')).toBe(programs)
    expect(existsSync(join(programs, 'pg_basebackup'))).toBe(true)
  } finally {
    process.env.PATH = PATH
    rmSync(folder, { recursive: true })
  }
})

test('without PostgreSQL one line says what to install', async () => {
  const { PATH } = process.env
  process.env.PATH = '/nowhere'
  try {
    await expect(startPostgres({ programs: '/nowhere/at-all' })).rejects.toThrow(
      /^PostgreSQL is missing: cannot find initdb\. On Debian: apt-get install postgresql$/,
    )
  } finally {
    process.env.PATH = PATH
  }
})
