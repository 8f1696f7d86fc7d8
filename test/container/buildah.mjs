import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from '../../scripts/child.mjs'
import { PrepareError, root } from '../../scripts/prepare.mjs'

/** Holds images that are kept between two runs. */
export const cacheDir = join(root, 'node_modules', '.cache', 'paystile-container')

/** Runs a program and returns its output; throws with the output if it fails. */
export async function run(command, ...args) {
  const { code, output, interrupted } = await runChild(command, args, { capture: true, cwd: root })
  if (interrupted) process.exit(130)
  if (code === 0) return output
  throw new PrepareError(`${[command, ...args].join(' ')}\nfailed with exit code ${code}:\n${output}`)
}

/** buildah with a storage of its own; the driver vfs needs no kernel support. */
export async function buildah(...args) {
  mkdirSync(cacheDir, { recursive: true })
  const storage = ['--root', join(cacheDir, 'storage'), '--runroot', join(cacheDir, 'run')]
  return run('buildah', '--storage-driver', 'vfs', ...storage, ...args)
}

/** A working container of an image; `rootfs` is its folder. Removed again by `remove`. */
export async function openContainer(image) {
  const name = (await buildah('from', '--pull-never', image)).trim()
  const rootfs = (await buildah('mount', name)).trim()
  return {
    rootfs,
    run: (args, options = []) => buildah('run', '--isolation', 'chroot', ...options, name, '--', ...args),
    configure: (...args) => buildah('config', ...args, name),
    commit: (tag) => buildah('commit', '--format', 'docker', name, tag),
    remove: () => buildah('rm', name),
  }
}
