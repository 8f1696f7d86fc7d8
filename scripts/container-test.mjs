import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { buildah, openContainer } from '../test/container/buildah.mjs'
import { developmentPackages, foreignFiles, sizeOf, writablePlaces } from '../test/container/image-files.mjs'
import { ensureStandIn } from '../test/container/stand-in.mjs'
import { makeVolume, startContainer } from '../test/container/start-container.mjs'
import { ensureBuilt, ensureInstalled, ensureSystem, PrepareError, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

const IMAGE = 'localhost/paystile:test'
const service = parse(readFileSync(join(root, 'docker/compose.yaml'), 'utf8')).services.paystile
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const inside = (name) => readFileSync(join(root, 'test/container', name), 'utf8')
const startedMs = performance.now()
const cleanups = []
let passed = 0

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureSystem(['buildah', 'debootstrap', 'runc'])
  if (process.getuid?.() !== 0) {
    throw new PrepareError(
      'Building and running an image without an engine needs root: sudo npm run container:test',
    )
  }
  await ensureBuilt()
  try {
    await testImage()
    console.log(`${passed} passed, 0 failed (${seconds(startedMs)} s)`)
  } finally {
    for (const clean of cleanups.reverse()) await clean()
  }
})

async function testImage() {
  const base = await step('a stand-in for the base image is there', ensureStandIn)
  await step('Compose accepts every compose file', () => checkComposeFiles(base))
  await step('the Dockerfile builds, unchanged', () => buildImage())
  const container = await openContainer(IMAGE)
  cleanups.push(async () => {
    await container.remove()
    await buildah('rmi', '--prune', '--force').catch(() => {})
    await buildah('rmi', '--force', IMAGE)
  })
  const { rootfs } = container
  const inspected = JSON.parse(await buildah('inspect', '--type', 'image', IMAGE))
  const image = inspected.Docker.config

  await step('it says who it is, runs as a user, keeps /data and checks its health', () => checkConfig(image))
  await step('it holds no development package, source, test or tool', () => {
    assert.deepEqual(developmentPackages(rootfs, join(root, 'package-lock.json')), [])
    assert.deepEqual(foreignFiles(rootfs), [])
  })
  await step('its user may write /data alone', () => {
    assert.deepEqual(writablePlaces(rootfs, { uid: 1000, gid: 1000 }), ['/data'])
  })
  await step('buildah runs it (chroot) as that user, and every script loads', async () => {
    const answered = await container.run([...image.Entrypoint, '--version'])
    // Under chroot, tini prints that it is not process 1; with runc it is.
    assert.equal(answered.trim().split('\n').at(-1), version)
    assert.match(await container.run(['id']), /^uid=1000\b.* gid=1000\b/)
    const loaded = await container.run(['node', '--input-type=module', '-e', inside('load-modules.mjs')])
    const { count, failed } = JSON.parse(loaded)
    assert.deepEqual(failed, [])
    assert.ok(count > 100, `only ${count} scripts were found`)
  })
  const start = (options) => startContainer({ rootfs, image, service, ...options })
  await testUnconfigured(start, rootfs, image)
  await testSale(start, rootfs, image)
  const mb = (folder) => `${Math.round(sizeOf(join(rootfs, folder)) / 1e6)} MB`
  console.log(
    `Image: ${mb('.')} (with the stand-in base), of it node_modules ${mb('app/node_modules')}, dist ${mb('app/dist')}, node ${mb('usr/local')}.`,
  )
}

async function testUnconfigured(start, rootfs, image) {
  const port = await freePort()
  const data = makeVolume(rootfs, 'data')
  cleanups.push(data.remove)
  const server = start({ env: { PORT: port }, binds: { '/data': data.path } })
  cleanups.push(server.remove)
  const url = `http://127.0.0.1:${port}`
  await step('unconfigured, it starts on a read-only root and waits for setup', async () => {
    await healthy(server, `${url}/health`)
    assert.equal((await fetch(`${url}/ready`)).status, 503)
    const page = await fetch(url, { headers: { accept: 'text/html' } })
    assert.match(page.url, /\/setup$/)
    const html = await page.text()
    const asset = /(?:src|href)="([^"]*assets\/[^"]+\.js)"/.exec(html)?.[1]
    assert.equal((await fetch(new URL(asset, page.url))).status, 200)
  })
  await step('it has no capability, gains no privilege, and tini is process 1', async () => {
    const { output } = await server.exec(['cat', '/proc/1/cmdline', '/proc/1/status'])
    assert.match(output, /^tini\0--\0node\0dist\/cli\/main\.js\0serve\0/)
    assert.match(output, /^Uid:\t1000\t1000\t1000\t1000$/m)
    assert.match(output, /^NoNewPrivs:\t1$/m)
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      assert.match(output, new RegExp(`^${set}:\t0{16}$`, 'm'))
    }
  })
  await step('it can leave a file in /data and the tmpfs only', async () => {
    const { output } = await server.exec([
      'node',
      '--input-type=module',
      '-e',
      inside('writable-folders.mjs'),
    ])
    assert.deepEqual(JSON.parse(output), ['/data', '/tmp'])
  })
  await step('the health check passes, and fails where nothing answers', async () => {
    const [, ...command] = image.Healthcheck.Test
    const good = await server.exec(command)
    assert.equal(good.code, 0, good.output)
    const bad = await server.exec(command, { PORT: '1' })
    assert.equal(bad.code, 1)
    assert.match(bad.output, /^http:\/\/127\.0\.0\.1:1\/health: /)
  })
  await step('unconfigured, it stops on SIGTERM', async () => {
    assert.equal(await server.stop(), 0, server.output())
  })
}

async function testSale(start, rootfs, image) {
  const { startDevChain } = await import('../dist/testing/index.js')
  const { createBuyer } = await import('../dist/buyer/index.js')
  const chain = await startDevChain()
  cleanups.push(() => chain.stop())
  const data = makeVolume(rootfs, 'data')
  const secrets = makeSecrets({ 'token-secret': 'a shared secret of more than thirty-two bytes' })
  cleanups.push(data.remove, secrets.remove)
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/pay`
  const env = {
    PORT: port,
    BASE_URL: baseUrl,
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    TOKEN_SECRET_FILE: '/run/secrets/token-secret',
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    POLL_INTERVAL_MS: '100',
  }
  const binds = { '/data': data.path, '/run/secrets:ro': secrets.path }
  const open = async () => {
    const server = start({ env, binds })
    cleanups.push(server.remove)
    await healthy(server, `${baseUrl}/ready`)
    return server
  }

  let server = await open()
  let sale
  await step('a buyer pays it, and the seller has the money on chain', async () => {
    const buyer = await chain.newBuyer({ micro: 1_000_000n })
    const before = await chain.balanceOf(chain.account(0).address)
    sale = await createBuyer({ account: buyer.account, maxAmount: '$1.00' }).buy(baseUrl, { planId: 'basic' })
    assert.equal(sale.grant.tokenType, 'Bearer')
    assert.equal((await chain.balanceOf(chain.account(0).address)) - before, 1_000_000n)
    assert.equal(await chain.balanceOf(buyer.account.address), 0n)
  })
  await step('below a base path the health check passes too', async () => {
    const [, ...command] = image.Healthcheck.Test
    const { code, output } = await server.exec(command)
    assert.equal(code, 0, output)
  })
  await step('no test or debug endpoint answers', async () => {
    for (const path of [
      '/test',
      '/debug',
      '/faults',
      '/_debug',
      '/sandbox',
      '/debug/pprof',
      '/json/version',
    ]) {
      for (const place of [baseUrl, new URL(baseUrl).origin]) {
        assert.equal((await fetch(`${place}${path}`)).status, 404, `${place}${path}`)
      }
    }
  })
  await step('it stops on SIGTERM, cleanly', async () => {
    assert.equal(await server.stop(), 0, server.output())
    assert.doesNotMatch(server.output(), /EROFS|EACCES|\n\s+at /)
  })
  await step('a new container on the same volume knows the sale', async () => {
    server = await open()
    const status = await fetch(`${baseUrl}/x402/challenges/${sale.grant.challengeId}`)
    assert.equal((await status.json()).state, 'DELIVERED')
    assert.equal(await server.stop(), 0, server.output())
  })
}

async function buildImage() {
  const labels = ['--build-arg', `VERSION=${version}`, '--build-arg', 'REVISION=test']
  const flags = ['--isolation', 'chroot', '--pull-never', '--format', 'docker', ...labels]
  await buildah('bud', ...flags, '-f', 'docker/Dockerfile', '-t', IMAGE, '.')
}

function checkConfig(image) {
  assert.equal(image.User, '1000:1000')
  assert.deepEqual(image.Entrypoint, ['tini', '--', 'node', 'dist/cli/main.js'])
  assert.deepEqual(image.Cmd, ['serve'])
  assert.deepEqual(Object.keys(image.Volumes), ['/data'])
  assert.ok(image.Env.includes('DATA_DIR=/data') && image.Env.includes('NODE_ENV=production'))
  assert.deepEqual(image.Healthcheck.Test, ['CMD', 'node', 'docker/healthcheck.mjs'])
  assert.equal(image.Healthcheck.Interval, 30e9)
  const label = (name) => image.Labels[`org.opencontainers.image.${name}`]
  assert.deepEqual([label('title'), label('version'), label('licenses')], ['paystile', version, 'MIT'])
}

/** The compose plugin itself, from Debian, reads the files as it would on a user's machine. */
async function checkComposeFiles(base) {
  const container = await openContainer(base)
  try {
    const install = 'apt-get update -q && apt-get install -qy --no-install-recommends docker-compose'
    await container.run(['sh', '-c', install])
    const files = ['--volume', `${join(root, 'docker')}:/mnt/docker:ro`]
    for (const name of ['compose.yaml', 'compose.redis.yaml', 'compose.postgres.yaml']) {
      const compose = '/usr/libexec/docker/cli-plugins/docker-compose'
      await container.run([compose, '-f', `/mnt/docker/${name}`, 'config', '--quiet'], files)
    }
  } finally {
    await container.remove()
  }
}

async function healthy(server, url) {
  let ended
  server.ended.then((code) => {
    ended = code
  })
  for (;;) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.status === 200) return
    assert.equal(ended, undefined, `the container ended:\n${server.output()}`)
    await new Promise((turn) => setTimeout(turn, 100))
  }
}

function makeSecrets(files) {
  const path = mkdtempSync(join(tmpdir(), 'paystile-secrets-'))
  chmodSync(path, 0o755)
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(path, name), `${text}\n`, { mode: 0o644 })
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

async function freePort() {
  const server = createServer()
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address()
  await new Promise((closed) => server.close(closed))
  return port
}

async function step(name, run) {
  const sinceMs = performance.now()
  try {
    const result = await run()
    console.log(`✓ ${name} (${seconds(sinceMs)} s)`)
    passed++
    return result
  } catch (error) {
    console.log(`✗ ${name} (${seconds(sinceMs)} s)`)
    throw new PrepareError(error.message)
  }
}

function seconds(sinceMs) {
  return ((performance.now() - sinceMs) / 1000).toFixed(1)
}
