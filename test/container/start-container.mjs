import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild } from '../../scripts/child.mjs'

const mount = (destination, type, source, ...options) => ({ destination, type, source, options })
const SYSTEM_MOUNTS = [
  mount('/proc', 'proc', 'proc'),
  mount('/dev', 'tmpfs', 'tmpfs', 'nosuid', 'mode=755', 'size=65536k'),
  mount('/dev/shm', 'tmpfs', 'shm', 'nosuid', 'noexec', 'nodev', 'mode=1777', 'size=65536k'),
  mount('/sys', 'sysfs', 'sysfs', 'nosuid', 'noexec', 'nodev', 'ro'),
  mount('/etc/resolv.conf', 'bind', '/etc/resolv.conf', 'bind', 'ro'),
  mount('/etc/hosts', 'bind', '/etc/hosts', 'bind', 'ro'),
]

/** A folder like a named volume: with owner and mode of the folder in the image. */
export function makeVolume(rootfs, path) {
  const { uid, gid, mode } = statSync(join(rootfs, path))
  const folder = mkdtempSync(join(tmpdir(), 'paystile-volume-'))
  const volume = join(folder, 'volume')
  mkdirSync(volume)
  chownSync(volume, uid, gid)
  chmodSync(volume, mode & 0o7777)
  return { path: volume, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Starts an image's command by runc, the runtime beneath Docker, as a compose service asks for it: read-only root,
 * tmpfs, capabilities, privileges. It shares the network of this machine.
 *
 * @param {{ rootfs: string, image: object, service: object, env?: object, binds?: Record<string, string> }} options
 */
export function startContainer({ rootfs, image, service, env = {}, binds = {} }) {
  const id = `paystile-test-${randomUUID()}`
  const bundle = mkdtempSync(join(tmpdir(), 'paystile-bundle-'))
  const state = ['--root', join(bundle, 'state')]
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(specOf({ rootfs, image, service, env, binds })))
  const child = spawn('runc', [...state, 'run', '--bundle', bundle, id], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const ended = new Promise((resolve) => child.once('close', resolve))
  const runc = (...args) => runChild('runc', [...state, ...args], { capture: true })
  return {
    output: () => output,
    ended,
    /** Runs a command inside, as the same user. */
    exec: (args, variables = {}) => {
      const flags = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`])
      return runc('exec', ...flags, id, ...args)
    },
    /** Returns the exit code. */
    async stop(signal = 'TERM') {
      await runc('kill', id, signal)
      return ended
    },
    async remove() {
      if (child.exitCode === null) await runc('kill', id, 'KILL')
      await ended
      await runc('delete', '--force', id)
      rmSync(bundle, { recursive: true, force: true })
    },
  }
}

function specOf({ rootfs, image, service, env, binds }) {
  const [uid, gid] = image.User.split(':').map(Number)
  const tmpfs = (service.tmpfs ?? []).map((entry) => {
    const [path, options = ''] = entry.split(':')
    return mount(path, 'tmpfs', 'tmpfs', 'nosuid', 'nodev', 'noexec', ...options.split(',').filter(Boolean))
  })
  const bound = Object.entries(binds).map(([path, source]) => {
    const [destination, access = 'rw'] = path.split(':')
    return mount(destination, 'bind', source, 'rbind', access)
  })
  if (!service.cap_drop?.includes('ALL')) throw new Error('the service keeps capabilities; drop ALL')
  const none = { bounding: [], effective: [], permitted: [], ambient: [] }
  return {
    ociVersion: '1.0.2',
    hostname: 'paystile',
    root: { path: rootfs, readonly: service.read_only === true },
    process: {
      user: { uid, gid },
      args: [...image.Entrypoint, ...image.Cmd],
      env: [...image.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
      cwd: image.WorkingDir,
      capabilities: none,
      noNewPrivileges: service.security_opt?.includes('no-new-privileges:true') ?? false,
    },
    mounts: [...SYSTEM_MOUNTS, ...tmpfs, ...bound],
    linux: {
      namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      resources: { pids: { limit: service.pids_limit ?? 0 } },
    },
  }
}
