import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Entry {
  version?: string
  optionalDependencies?: Record<string, string>
  os?: string[]
  cpu?: string[]
  resolved?: string
}

const root = fileURLToPath(new URL('..', import.meta.url))
const packages: Record<string, Entry> = JSON.parse(
  readFileSync(join(root, 'package-lock.json'), 'utf8'),
).packages

/** As Node looks a package up: beside the one that asks, then in each folder above. */
function find(from: string, name: string): Entry | undefined {
  for (let folder = from; ; ) {
    const found = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]
    if (found || folder === '') return found
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))
  }
}

const optional = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
  Object.keys(optionalDependencies).map((name) => ({ path, name, entry: find(path, name) })),
)

test('the lock names the builds of every platform, each for its own system only', () => {
  expect(optional.filter(({ entry }) => entry === undefined).map(({ name }) => name)).toEqual([])
  const builds = optional.filter(({ name }) => /(darwin|linux|win32|android|freebsd|openharmony)-/.test(name))
  // Without them npm would fetch the builds of all platforms.
  const everywhere = builds.filter(({ entry }) => !entry?.os || !entry.cpu || !entry.version)
  expect(everywhere.map(({ name }) => name)).toEqual([])
  for (const system of ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'])
    expect(builds.filter(({ name }) => name.includes(system)).length).toBeGreaterThan(1)
})

test('the lock holds no download addresses, so that every registry can serve it', () => {
  expect(Object.keys(packages).filter((path) => packages[path]?.resolved !== undefined)).toEqual([])
})

test('npm ci takes the lock as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-lock-'))
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      copyFileSync(join(root, file), join(folder, file))
    // Without the network: whatever npm would have to ask for is missing from the lock.
    const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--loglevel=error']
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    const { stdout } = await promisify(execFile)(npm, args, {
      cwd: folder,
      shell: process.platform === 'win32',
    })
    expect(stdout).toMatch(/added \d+ packages/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
