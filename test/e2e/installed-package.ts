import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

export interface InstalledPackage {
  folder: string
  /** The PATH of a shell there, with what npm links into `.bin`. */
  path: string
  /** Links a further package, as `npm install` would put it there. */
  add(name: string): void
  remove(): void
}

/**
 * A newcomer's folder after `npm install paystile`: the files that npm packs, and of other packages only those that the packed
 * package.json names. They are linked from this repository, so that no test waits for a registry.
 */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-installed-'))
  const modules = join(folder, 'node_modules')
  const add = (name: string) => {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction')
  }
  const packed = await packedPackage(folder)
  mkdirSync(join(modules, '.bin'), { recursive: true })
  await run('tar', ['-xzf', packed, '-C', folder, '--transform', 's,^package,node_modules/paystile,'])
  if (dirname(packed) === folder) rmSync(packed)
  const manifest = JSON.parse(readFileSync(join(modules, 'paystile/package.json'), 'utf8'))
  for (const name of Object.keys(manifest.dependencies)) add(name)
  symlinkSync(join('..', 'paystile', manifest.bin.paystile), join(modules, '.bin', 'paystile'))
  await run('chmod', ['+x', join(modules, 'paystile', manifest.bin.paystile)])
  return {
    folder,
    path: [join(modules, '.bin'), process.env.PATH].join(delimiter),
    add,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** `npm test` has packed it once for all; a test that is run alone packs it itself, into the folder. */
export async function packedPackage(folder: string): Promise<string> {
  const already = process.env.PAYSTILE_TEST_PACKAGE
  if (already) return already
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', words, { cwd: root })
  return join(folder, JSON.parse(stdout)[0].filename)
}
