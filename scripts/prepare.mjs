import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { runChild } from './child.mjs'
import { findPython } from './find-python.mjs'
import { withProgress } from './progress.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
const pagesDir = join(root, 'dist', 'ui')

/** A failure whose message explains it; commands print it without a stack. */
export class PrepareError extends Error {}

/** Installs the locked dependencies when they are absent or differ from package-lock.json. */
export async function ensureInstalled() {
  if (installedMatchesLock()) return
  if (!lockMatchesManifest()) {
    throw new PrepareError('package-lock.json is behind package.json: run npm install and commit both.')
  }
  console.log('Installing dependencies (npm ci)…')
  const result = await runNpm('ci', '--ignore-scripts')
  if (result.code !== 0) throw new PrepareError(`npm failed with exit code ${result.code}:\n${result.output}`)
}

/** Compiles src/ to dist/ and bundles ui/ to dist/ui/ when any source is newer than the last good build. */
export async function ensureBuilt() {
  const compiling = compile({
    tsconfig: 'tsconfig.build.json',
    emits: 'src',
    reads: [],
    base: 'src',
    outDir: 'dist',
  })
  const [result, pages] = await withProgress('Building', () => Promise.all([compiling, bundlePages()]))
  if (!result.ok) throw new PrepareError(`the build failed:\n${result.output}`)
  if (!pages.ok) throw new PrepareError(`the browser pages could not be built:\n${pages.output}`)
}

/** Compiles the simulator and the sources it runs, apart from dist/; returns the folder that holds them. */
export function ensureSimBuilt() {
  return ensureApart('sim', 'test/sim', 'the simulator', ['src', 'test/schemes'])
}

/** The same for the fuzz targets. */
export function ensureFuzzBuilt() {
  return ensureApart('fuzz', 'test/fuzz', 'the fuzz targets')
}

/** The same for the benchmark. */
export function ensureBenchBuilt() {
  return ensureApart('bench', 'bench', 'the benchmark')
}

async function ensureApart(name, emits, what, reads = ['src']) {
  const outDir = join('node_modules', '.cache', `paystile-${name}`)
  const result = await compile({
    tsconfig: `tsconfig.${name}.json`,
    emits,
    reads,
    base: '.',
    outDir,
  })
  if (!result.ok) throw new PrepareError(`${what} does not compile:\n${result.output}`)
  // Below node_modules the repository's own "type": "module" does not count.
  writeFileSync(join(root, outDir, 'package.json'), '{ "type": "module" }\n')
  return join(root, outDir)
}

const systemParts = {
  redis: { programs: ['redis-server'], debianPackages: ['redis-server'] },
  postgres: { programs: ['initdb'], folders: debianPostgresFolders, debianPackages: ['postgresql'] },
  // The shell without windows draws the same pages in half the time.
  chromium: {
    programs: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
    debianPackages: ['chromium-headless-shell'],
  },
  promtool: { programs: ['promtool'], debianPackages: ['prometheus'] },
  nginx: { programs: ['nginx'], folders: () => ['/usr/sbin'], debianPackages: ['nginx-light'] },
  'python3 with pycryptodomex and ecdsa': {
    find: findPython,
    debianPackages: ['python3', 'python3-pycryptodome', 'python3-ecdsa'],
  },
  buildah: { programs: ['buildah'], debianPackages: ['buildah'] },
  debootstrap: { programs: ['debootstrap'], debianPackages: ['debootstrap'] },
  runc: { programs: ['runc'], debianPackages: ['runc'] },
}

/**
 * Finds programs that npm cannot install, and installs them first where that is possible (root on Debian).
 *
 * @param {Array<keyof typeof systemParts>} names
 * @returns {Promise<Record<string, string>>} the path of each program
 */
export async function ensureSystem(names) {
  const absent = names.filter((name) => findSystemPart(name) === undefined)
  if (absent.length > 0) await installSystemParts(absent)
  return Object.fromEntries(names.map((name) => [name, findSystemPart(name)]))
}

/** Runs a command's main function; a PrepareError ends it with its message alone. */
export async function runMain(main) {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}

/** The program of an installed package, to be run with `process.execPath`. */
export function packageBin(name, file) {
  return join(root, 'node_modules', name, file)
}

/** @returns {ReturnType<typeof runChild>} */
export async function runNpm(...args) {
  const npm = process.env.npm_execpath?.endsWith('npm-cli.js')
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === 'win32' ? 'npm.cmd' : 'npm']
  // NODE_ENV=production would leave out the compiler, which every command here needs.
  const [command, ...rest] = [...npm, ...args, '--include=dev', '--no-audit', '--no-fund']
  const result = await withProgress(`npm ${args[0]}`, () =>
    runChild(command, rest, { capture: true, cwd: root }),
  )
  if (result.interrupted) process.exit(130)
  return result
}

function lockMatchesManifest() {
  const manifest = readJson('package.json')
  const locked = readJson('package-lock.json').packages['']
  const kinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']
  return kinds.every((kind) => isDeepStrictEqual(manifest[kind], locked[kind]))
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

function installedMatchesLock() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false
  const locked = readJson('package-lock.json').packages
  const installed = readJson('node_modules/.package-lock.json').packages
  // Compares contents and not times, which installs and checkouts change.
  return Object.entries(locked).every(([path, entry]) => {
    if (path === '') return true
    const found = installed[path]
    // Builds for other platforms are locked but never installed.
    if (found === undefined) return entry.optional === true || entry.devOptional === true
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

/** Compiles every script in `emits`, and of `reads` only what those import. */
async function compile({ tsconfig, emits, reads, base, outDir }) {
  const toOutput = (file) => join(root, outDir, relative(join(root, base), file))
  const buildInfo = join(root, outDir, '.tsbuildinfo')
  const own = listTree(join(root, emits))
  const all = [...own, ...reads.flatMap((folder) => listTree(join(root, folder)))]
  const expected = own.filter(isCompiled).map((file) => toOutput(file).replace(/ts$/, 'js'))
  const isComplete = () => expected.every((file) => existsSync(file))

  let result = { ok: true, output: '' }
  if (!isComplete() || isStale(buildInfo, [...all, join(root, 'tsconfig.json'), join(root, tsconfig)])) {
    const startedAt = new Date()
    result = await runTsc(tsconfig)
    if (result.ok && !isComplete()) {
      // The compiler trusts its build record more than the folder; without the record it writes everything again.
      rmSync(buildInfo, { force: true })
      result = await runTsc(tsconfig)
    }
    removeOrphans(toOutput(join(root, emits)), expected)
    // A failed build counts as outdated, and so does one whose sources were edited while it ran.
    if (existsSync(buildInfo)) utimesSync(buildInfo, startedAt, result.ok ? startedAt : new Date(0))
  }
  copyAssets(all, toOutput)
  return result
}

async function bundlePages() {
  const mark = join(pagesDir, '.built')
  if (!isStale(mark, listTree(join(root, 'ui')))) return { ok: true, output: '' }
  const startedAt = new Date()
  const vite = packageBin('vite', 'bin/vite.js')
  // The first one empties the folder that both write into.
  for (const folder of ['ui', 'ui/pay']) {
    const { code, output, interrupted } = await runChild(
      process.execPath,
      [vite, 'build', folder, '--logLevel', 'warn'],
      { capture: true, cwd: root },
    )
    if (interrupted) process.exit(130)
    if (code !== 0) return { ok: false, output }
  }
  // The mark is written last, so that a failed build, or an edit meanwhile, causes another build.
  writeFileSync(mark, '')
  utimesSync(mark, startedAt, startedAt)
  return { ok: true, output: '' }
}

async function runTsc(tsconfig) {
  const tsc = packageBin('typescript-native', 'bin/tsc')
  const { code, output, interrupted } = await runChild(process.execPath, [tsc, '-p', tsconfig], {
    capture: true,
    cwd: root,
  })
  if (interrupted) process.exit(130)
  return { ok: code === 0, output }
}

function isStale(buildInfo, inputs) {
  if (!existsSync(buildInfo)) return true
  const builtAtMs = statSync(buildInfo).mtimeMs
  const changedAtMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return inputs.some((file) => changedAtMs(file) > builtAtMs)
}

function isCompiled(file) {
  return file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.d.ts')
}

function removeOrphans(folder, expected) {
  const kept = new Set(expected)
  for (const file of listTree(folder)) {
    if (file.startsWith(pagesDir)) continue
    const script = file.replace(/(\.d\.ts|\.js\.map)$/, '.js')
    if (script.endsWith('.js') && !kept.has(script)) rmSync(file)
  }
}

function copyAssets(files, toOutput) {
  for (const file of files.filter((name) => /\.(json|sql|lua|wasm)$/.test(name))) {
    const target = toOutput(file)
    if (existsSync(target) && statSync(target).mtimeMs >= statSync(file).mtimeMs) continue
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(file, target)
  }
}

/** Of files and folders: the time of a folder shows that a file in it was removed. */
function listTree(folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return [folder, ...entries.map((entry) => join(entry.parentPath ?? entry.path, entry.name))]
}

function findSystemPart(name) {
  const { find, programs, folders } = systemParts[name]
  if (find) return find()
  const places = [...(folders?.() ?? []), ...(process.env.PATH ?? '').split(delimiter)]
  return programs.flatMap((program) => places.map((place) => join(place, program))).find(existsSync)
}

function debianPostgresFolders() {
  const base = '/usr/lib/postgresql'
  if (!existsSync(base)) return []
  const newestFirst = readdirSync(base).sort((a, b) => Number(b) - Number(a))
  return newestFirst.map((version) => join(base, version, 'bin'))
}

async function installSystemParts(names) {
  const packages = names.flatMap((name) => systemParts[name].debianPackages)
  const byHand = `Install ${names.join(', ')} first; on Debian: apt-get install ${packages.join(' ')}`
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) throw new PrepareError(byHand)
  console.log(`Installing ${packages.join(', ')} (apt-get)…`)
  // The tests start servers of their own; RUNLEVEL=1 keeps the packages from starting theirs.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const { code, output, interrupted } = await runChild('apt-get', args, { capture: true, env })
    if (interrupted) process.exit(130)
    if (code !== 0) throw new PrepareError(`${byHand}\napt-get ${args[0]} failed:\n${output}`)
  }
  const missing = names.filter((name) => findSystemPart(name) === undefined)
  if (missing.length > 0) throw new PrepareError(byHand)
}
