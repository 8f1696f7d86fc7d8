import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PrepareError, root } from '../../scripts/prepare.mjs'
import { buildah, openContainer, run } from './buildah.mjs'

const MIRROR = 'http://deb.debian.org/debian'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/**
 * An image under the name of the Dockerfile's base image, made of Debian's packages and Node's own build from npm, for
 * machines that cannot pull the real one. Built once; returns its name.
 */
export async function ensureStandIn() {
  const dockerfile = readFileSync(join(root, 'docker/Dockerfile'), 'utf8')
  const [, name, major, suite] = /^ARG NODE_IMAGE=(\S+\/node:(\d+)-(\w+)-slim)$/m.exec(dockerfile) ?? []
  if (!name)
    throw new PrepareError('docker/Dockerfile has no line ARG NODE_IMAGE=…/node:<major>-<suite>-slim')
  const images = await buildah('images', '--quiet', '--filter', `reference=${name}`)
  if (images.trim() !== '') return name

  const container = await openContainer('scratch')
  const downloads = mkdtempSync(join(tmpdir(), 'paystile-stand-in-'))
  try {
    await run('debootstrap', '--variant=minbase', suite, container.rootfs, MIRROR)
    const local = join(container.rootfs, 'usr/local')
    await unpack(`node-linux-${process.arch}@${major}`, downloads, local)
    await unpack('npm@11', downloads, join(local, 'lib/node_modules/npm'))
    await run('ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
    await trustAsHere(container.rootfs)
    // As the official image has it.
    await container.run(['useradd', '--uid', '1000', '--user-group', '--create-home', 'node'])
    await container.configure('--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
    await container.configure('--cmd', 'node')
    rmSync(join(container.rootfs, 'var/cache/apt/archives'), { recursive: true, force: true })
    await container.commit(name)
  } finally {
    await container.remove()
    rmSync(downloads, { recursive: true, force: true })
  }
  return name
}

async function unpack(spec, downloads, target) {
  const packed = await run('npm', 'pack', spec, '--json', '--loglevel=error', '--pack-destination', downloads)
  const { filename } = JSON.parse(packed.slice(packed.indexOf('['))).at(-1)
  mkdirSync(target, { recursive: true })
  await run('tar', '-xzf', join(downloads, filename), '-C', target, '--strip-components=1', '--no-same-owner')
}

/** Where this machine reaches npm through a mirror or a proxy, so does the build. */
async function trustAsHere(rootfs) {
  const registry = (await run('npm', 'config', 'get', 'registry', '--loglevel=error'))
    .trim()
    .split('\n')
    .at(-1)
  const lines = [`registry=${registry}`]
  if (existsSync(CERTIFICATES)) {
    mkdirSync(dirname(join(rootfs, CERTIFICATES)), { recursive: true })
    copyFileSync(CERTIFICATES, join(rootfs, CERTIFICATES))
    lines.push(`cafile=${CERTIFICATES}`)
  }
  mkdirSync(join(rootfs, 'usr/local/etc'), { recursive: true })
  writeFileSync(join(rootfs, 'usr/local/etc/npmrc'), `${lines.join('\n')}\n`)
}
