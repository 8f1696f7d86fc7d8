import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { runChild } from './child.mjs'
import { BY_HAND, fetchBox64 } from './fetch-box64.mjs'
import { PrepareError, root, runNpm } from './prepare.mjs'

const FOREIGN = '@foundry-rs/anvil-linux-amd64'
const cache = join(root, 'node_modules', '.cache', 'anvil-box64')

/**
 * Makes sure that anvil, the local chain, can run: the build of npm for this machine, or one on the PATH. On 64-bit ARM Linux,
 * where a registry may lack that build, the one for x64 runs in an emulator, which is slower.
 */
export async function ensureChain() {
  if (hasOwnBuild() || isOnPath()) return
  if (process.platform !== 'linux' || process.arch !== 'arm64') {
    throw new PrepareError(`There is no anvil here. ${BY_HAND}`)
  }
  if (!existsSync(join(cache, 'anvil'))) await fetchForeign()
  process.env.PATH = [cache, process.env.PATH].join(delimiter)
}

function hasOwnBuild() {
  const arch = { x64: 'amd64' }[process.arch] ?? process.arch
  try {
    const owner = createRequire(join(root, 'package.json')).resolve('@foundry-rs/anvil/package.json')
    createRequire(owner).resolve(`@foundry-rs/anvil-${process.platform}-${arch}/package.json`)
    return true
  } catch {
    return false
  }
}

/** Ignores the launcher that npm links into `.bin`, which cannot run without a build. */
function isOnPath() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.endsWith('.bin'))
  return folders.some((folder) => existsSync(join(folder, 'anvil')))
}

async function fetchForeign() {
  const { version, integrity } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[
    `node_modules/${FOREIGN}`
  ]
  console.log('No anvil for this machine in the registry: the one for x64 will run under box64…')
  mkdirSync(cache, { recursive: true })
  const start = await fetchBox64(join(cache, 'box64'))
  const packed = await runNpm('pack', `${FOREIGN}@${version}`, '--pack-destination', cache)
  const archive = join(cache, `foundry-rs-anvil-linux-amd64-${version}.tgz`)
  if (packed.code !== 0) throw new PrepareError(`npm pack ${FOREIGN} failed:\n${packed.output}`)
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (integrity !== `sha512-${hash}`)
    throw new PrepareError(`${FOREIGN} is not what package-lock.json names.`)
  const unpacked = await runChild('tar', ['-xzf', archive, '-C', cache], { capture: true })
  if (unpacked.code !== 0) throw new PrepareError(`${archive} cannot be unpacked:\n${unpacked.output}`)
  const script = `#!/bin/sh\n${start} '${join(cache, 'package/bin/anvil')}' "$@"\n`
  const untried = join(cache, 'anvil.new')
  writeFileSync(untried, script, { mode: 0o755 })
  const tried = await runChild(untried, ['--version'], { capture: true })
  if (tried.code !== 0)
    throw new PrepareError(`Under box64 anvil does not start. ${BY_HAND}\n${tried.output}`)
  // Renamed last, so that its presence means that everything else is complete.
  renameSync(untried, join(cache, 'anvil'))
}
