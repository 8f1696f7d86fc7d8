import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { runChild } from './child.mjs'
import { ensureSystem, PrepareError, root, runNpm } from './prepare.mjs'

const FOREIGN = '@foundry-rs/anvil-linux-amd64'
const cache = join(root, 'node_modules', '.cache', 'anvil-amd64')

/**
 * The local chain is anvil: built for this machine, from npm, or whatever is on the PATH. On 64-bit ARM Linux, where a
 * registry may lack that build, the one for x64 runs under qemu: slowly, but it is the same chain.
 */
export async function ensureChain() {
  if (hasOwnBuild() || isOnPath()) return
  if (process.platform !== 'linux' || process.arch !== 'arm64') {
    throw new PrepareError('There is no anvil here: install Foundry (https://getfoundry.sh) first.')
  }
  const { qemu } = await ensureSystem(['qemu', 'libc', 'libgcc'])
  if (!existsSync(join(cache, 'anvil'))) await fetchForeign(qemu)
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

/** Not the launcher that npm links into `.bin`: without a build it starts nothing. */
function isOnPath() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.endsWith('.bin'))
  return folders.some((folder) => existsSync(join(folder, 'anvil')))
}

async function fetchForeign(qemu) {
  const { version, integrity } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[
    `node_modules/${FOREIGN}`
  ]
  console.log('No anvil for this machine in the registry: the one for x64 will run under qemu…')
  mkdirSync(cache, { recursive: true })
  const packed = await runNpm('pack', `${FOREIGN}@${version}`, '--pack-destination', cache)
  const archive = join(cache, `foundry-rs-anvil-linux-amd64-${version}.tgz`)
  if (packed.code !== 0) throw new PrepareError(`npm pack ${FOREIGN} failed:\n${packed.output}`)
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (integrity !== `sha512-${hash}`)
    throw new PrepareError(`${FOREIGN} is not what package-lock.json names.`)
  const unpacked = await runChild('tar', ['-xzf', archive, '-C', cache], { capture: true })
  if (unpacked.code !== 0) throw new PrepareError(`${archive} cannot be unpacked:\n${unpacked.output}`)
  const binary = join(cache, 'package', 'bin', 'anvil')
  // All its threads on one core: spread over several, it now and then stood still for a minute.
  const core = '$(($$ % $(nproc)))'
  const script = `#!/bin/sh\nexec taskset -c ${core} '${qemu}' -L /usr/x86_64-linux-gnu '${binary}' "$@"\n`
  // Written last, and whole: its presence says that everything else is there.
  writeFileSync(join(cache, 'anvil.new'), script, { mode: 0o755 })
  renameSync(join(cache, 'anvil.new'), join(cache, 'anvil'))
}
