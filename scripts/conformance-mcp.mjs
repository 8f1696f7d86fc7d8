import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild } from './child.mjs'
import { applicable, notApplicable } from './conformance-mcp-scenarios.mjs'
import { ensureBuilt, ensureInstalled, PrepareError, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

// The suite needs Node 22; if this Node is older, npm installs one in the suite's own folder.
const SUITE = '0.2.0-alpha.12'
const NODE = '22.23.3'
const hasNode22 = Number(process.versions.node.split('.')[0]) >= 22

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureBuilt()
  const suite = await installSuite()
  const work = mkdtempSync(join(tmpdir(), 'paystile-conformance-'))
  const { startDevChain } = await import(join(root, 'dist/testing/index.js'))
  const chain = await startDevChain()
  let server
  let failures = 0
  try {
    server = await startServer(chain, work)
    failures += await tellUnexplained(suite)
    for (const one of applicable) failures += await runScenario(suite, server.url, work, one)
  } finally {
    await server?.stop()
    await chain.stop()
    rmSync(work, { recursive: true, force: true })
  }
  console.log('\nDoes not apply:')
  for (const { reason, scenarios } of notApplicable) console.log(`- ${reason}: ${scenarios.join(', ')}`)
  console.log(`\n${applicable.length - failures} scenarios passed, ${failures} failed`)
  process.exit(failures === 0 ? 0 : 1)
})

/** A fixed version, outside of the project's own dependencies. */
async function installSuite() {
  const folder = join(root, 'node_modules/.cache', `mcp-conformance-${SUITE}`)
  const node = hasNode22 ? process.execPath : join(folder, 'node_modules/node/bin/node')
  const main = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  if (!existsSync(main) || !existsSync(node)) {
    console.log(`Installing @modelcontextprotocol/conformance ${SUITE}…`)
    mkdirSync(folder, { recursive: true })
    const dependencies = {
      '@modelcontextprotocol/conformance': SUITE,
      ...(!hasNode22 && { node: NODE }),
    }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    const args = ['install', '--no-audit', '--no-fund']
    const { code, output } = await runChild(npm, args, { capture: true, cwd: folder })
    if (code !== 0) throw new PrepareError(`npm failed with exit code ${code}:\n${output}`)
  }
  return (...args) => runChild(node, [main, ...args], { capture: true })
}

/** The standalone server as sellers run it, with one paid route that the suite knows as a tool that fails. */
async function startServer(chain, work) {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      BASE_URL: url,
      RPC_URL: chain.rpcUrl,
      SVC_WALLET_ADDRESS: chain.account(0).address,
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      ROUTES: '[{"routeId":"test_error_handling","method":"GET","path":"/fails","unitAmount":"$0.01"}]',
      PROXY_TO_BASE_URL: 'http://127.0.0.1:9',
      TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
      DATA_DIR: join(work, 'data'),
      RATE_LIMIT_PER_MINUTE: '0',
      MCP_ENABLED: 'true',
      MCP_ROUTES: 'true',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  let over = false
  gone.then(() => {
    over = true
  })
  while (!(await isUp(url))) {
    if (over) throw new PrepareError('the server did not start')
    await new Promise((turn) => setTimeout(turn, 50))
  }
  const stop = async () => {
    child.kill('SIGTERM')
    await gone
  }
  return { url: `${url}/mcp`, stop }
}

async function isUp(url) {
  try {
    return (await fetch(`${url}/health`)).ok
  } catch {
    return false
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, 'localhost', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** Uses the suite's own record of each check. Excused checks must really fail, or the excuse is out of date. */
async function runScenario(suite, url, work, { scenario, revision, excused = {} }) {
  const folder = mkdtempSync(join(work, 'checks-'))
  const args = ['--url', url, '--scenario', scenario, '--spec-version', revision, '-o', folder]
  const { output } = await suite('server', ...args)
  const file = readdirSync(folder, { recursive: true }).find((name) => name.endsWith('checks.json'))
  const checks = file ? JSON.parse(readFileSync(join(folder, file), 'utf8')) : []
  const failed = new Map(
    checks.filter(({ status }) => status === 'FAILURE').map(({ id, errorMessage }) => [id, errorMessage]),
  )
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length
  const faults = [
    ...[...failed].filter(([id]) => !(id in excused)).map(([id, why]) => `${id}: ${why}`),
    ...Object.keys(excused)
      .filter((id) => !failed.has(id))
      .map((id) => `${id} is excused and does not fail`),
    ...(passed === 0 ? [`no check passed\n${output}`] : []),
  ]
  const good = faults.length === 0
  console.log(`${good ? 'ok  ' : 'FAIL'} ${revision} ${scenario}: ${passed} checks passed`)
  for (const [id, reason] of Object.entries(excused)) console.log(`       not ${id}: ${reason}`)
  for (const fault of faults) console.log(`       ${fault}`)
  return good ? 0 : 1
}

/** Scenarios of the suite that are neither run nor listed with a reason. */
async function tellUnexplained(suite) {
  const { output } = await suite('list', '--server')
  const listed = [...output.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name)
  const known = new Set([
    ...applicable.map(({ scenario }) => scenario),
    ...notApplicable.flatMap(({ scenarios }) => scenarios),
  ])
  const unexplained = listed.filter((name) => !known.has(name))
  if (listed.length === 0) console.log(`FAIL the suite lists nothing:\n${output}`)
  for (const name of unexplained) console.log(`FAIL ${name} is neither run nor explained`)
  return unexplained.length + (listed.length === 0 ? 1 : 0)
}
