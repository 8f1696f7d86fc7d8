import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MIGRATIONS } from '../../src/stores/sql/migrations.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILE = 'src/stores/sql/migrations.ts'

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

/** The command line of the last version whose store has an earlier format. */
export interface EarlierVersion {
  program: string
  commit: string
  /** What its store lacks. */
  lacks: string
}

/**
 * Takes the version before the newest migration was written out of the repository's history, and bundles its command line. It
 * runs on the packages of this version.
 */
export function buildEarlierVersion(): EarlierVersion {
  const lacks = MIGRATIONS.at(-1)!.name
  const commit = commitBefore(lacks)
  const folder = join(ROOT, 'node_modules', '.cache', `paystile-earlier-${commit}`)
  const version = { program: join(folder, 'server', 'main.js'), commit, lacks }
  if (existsSync(version.program)) return version
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const archive = execFileSync('git', ['archive', commit, 'src', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  const bundle = `import { bundleServer } from './scripts/bundle-server.mjs'
    const [input, folder] = process.argv.slice(1)
    await bundleServer(input, folder)`
  const places = [join(folder, 'src', 'cli', 'main.ts'), join(folder, 'server')]
  execFileSync(process.execPath, ['--input-type=module', '-e', bundle, ...places], {
    cwd: ROOT,
    stdio: 'pipe',
  })
  return version
}

function commitBefore(migration: string): string {
  let added = ''
  try {
    added = git('log', '--format=%H', `-S'${migration}'`, '--', FILE)
  } catch {
    // Not a repository; the same is said below.
  }
  const first = added.split('\n').at(-1)
  if (!first) {
    throw new Error(
      'The version before is built from the history of this repository, which is not here. Clone it whole, or: git fetch --unshallow',
    )
  }
  return git('rev-parse', '--short=12', `${first}^1`)
}
