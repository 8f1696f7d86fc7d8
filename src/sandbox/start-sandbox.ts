import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { startDevChain } from '../testing/dev-chain.ts'
import { BROKEN_PLAN, startDemoBackend } from './demo-backend.ts'
import { openSandbox } from './sandbox-state.ts'

const PLANS = [
  { planId: 'hourly', unitAmount: '$0.25', description: 'Weather for an hour' },
  { planId: 'daily', unitAmount: '$0.90', description: 'Weather for a day' },
  { planId: BROKEN_PLAN, unitAmount: '$0.50', description: 'Cannot be delivered: shows a refund' },
]
const ROUTES = [
  {
    routeId: 'forecast',
    method: 'GET',
    path: '/forecast/:city',
    unitAmount: '$0.01',
    description: 'The weather of one city, now',
  },
]
const BUYER_MICRO = 100_000_000n

/**
 * What `npm start` runs: a local chain with test USDC, a demo seller's API, and the standalone server as a process of its
 * own, on the embedded store and configured by environment variables only. Production loads nothing of this folder.
 */
async function main(): Promise<void> {
  const startedAt = Date.now()
  const port = await choosePort(Number(process.env.PORT ?? 3000))
  const sandbox = openSandbox(port)
  const baseUrl = `http://localhost:${port}`
  const [chain, backend] = await Promise.all([startDevChain({ blockTimeSeconds: 1 }), startDemoBackend()])
  const seller = chain.account(0)
  const buyer = await chain.newBuyer({ micro: BUYER_MICRO })
  const adminToken = randomBytes(16).toString('hex')
  const dashboardUrl = `${baseUrl}/admin?token=${adminToken}`
  const gateway = startGateway({
    PORT: String(port),
    BASE_URL: baseUrl,
    SVC_NETWORK: chain.network,
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: seller.address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    PLANS: JSON.stringify(PLANS),
    ROUTES: JSON.stringify(ROUTES),
    PROXY_TO_BASE_URL: backend.url,
    ISSUE_TOKEN_API: `${backend.url}/issue-token`,
    RESOURCE_ENDPOINT: `${backend.url}/data/{resourceId}`,
    AGENT_NAME: 'Sandbox weather',
    AGENT_DESCRIPTION: 'A demo seller on a local chain',
    DATA_DIR: sandbox.dataDir,
    SVC_MANAGED_INFRA: 'none',
    ADMIN_TOKEN: adminToken,
    MCP_ENABLED: 'true',
    POLL_INTERVAL_MS: '100',
    REFUND_INTERVAL_SECONDS: '2',
  })

  let stopping: Promise<void> | undefined
  const stop = (code: number): void => {
    stopping ??= (async () => {
      sandbox.remove()
      gateway.kill('SIGTERM')
      await exited(gateway)
      await Promise.all([chain.stop(), backend.close()])
      process.exit(code)
    })()
  }
  process.on('SIGINT', () => stop(0))
  process.on('SIGTERM', () => stop(0))
  gateway.on('exit', (code) => {
    if (!stopping) console.error(`The gateway stopped (exit code ${code}).`)
    stop(code ?? 1)
  })

  await untilReady(baseUrl)
  sandbox.write({
    pid: process.pid,
    startedAt,
    baseUrl,
    dashboardUrl,
    rpcUrl: chain.rpcUrl,
    sellerAddress: seller.address,
    buyerPrivateKey: buyer.privateKey,
  })
  show({
    baseUrl,
    rpcUrl: chain.rpcUrl,
    seller: seller.address,
    buyer,
    dashboardUrl,
    port,
    seconds: (Date.now() - startedAt) / 1000,
  })
}

function startGateway(env: Record<string, string>): ChildProcess {
  const main = fileURLToPath(new URL('../cli/main.js', import.meta.url))
  // Passes on only what is needed: other variables of the developer's shell must not change the sandbox.
  const { PATH = '', HOME = '' } = process.env
  return spawn(process.execPath, [main, 'serve'], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((done) => child.once('exit', done))
}

async function untilReady(baseUrl: string): Promise<void> {
  for (;;) {
    const ready = await fetch(`${baseUrl}/ready`).catch(() => undefined)
    if (ready?.ok) return
    await new Promise((turn) => setTimeout(turn, 50))
  }
}

/** The wanted port, or the next free one. */
async function choosePort(wanted: number): Promise<number> {
  for (let port = wanted; port < wanted + 50; port++) {
    const probe = createServer()
    const free = await new Promise<boolean>((done) => {
      probe.once('error', () => done(false))
      probe.listen(port, () => done(true))
    })
    if (free) {
      await new Promise((closed) => probe.close(closed))
      return port
    }
  }
  throw new Error(`No free port between ${wanted} and ${wanted + 49}; set PORT.`)
}

function show(facts: {
  baseUrl: string
  rpcUrl: string
  seller: string
  buyer: { address: string; privateKey: string }
  dashboardUrl: string
  port: number
  seconds: number
}): void {
  const strong = (text: string): string => styleText('bold', text)
  const rows: Array<[string, string]> = [
    ['gateway', facts.baseUrl],
    ['dashboard', facts.dashboardUrl],
    ['chain', `${facts.rpcUrl} (a local stand-in for Base Sepolia)`],
    ['seller', facts.seller],
    ['plans', PLANS.map(({ planId, unitAmount }) => `${planId} ${unitAmount}`).join('  ·  ')],
    [
      'paid calls',
      ROUTES.map(({ method, path, unitAmount }) => `${method} ${path} ${unitAmount}`).join('  ·  '),
    ],
    ['buyer', `${facts.buyer.address} holds $100 of test USDC`],
    ['buyer key', `${facts.buyer.privateKey} (worthless anywhere else)`],
  ]
  console.log(`\n${strong(`paystile sandbox is ready`)} after ${facts.seconds.toFixed(1)} s\n`)
  for (const [name, value] of rows) console.log(`  ${name.padEnd(10)} ${value}`)
  const commands: Array<[string, string]> = [
    [
      facts.port === 3000 ? 'npm run buy' : `npm run buy ${facts.port}`,
      'watch a plan, a paid call and a refund, step by step',
    ],
    [`curl ${facts.baseUrl}/skills.md`, 'how an agent buys here'],
    [`curl ${facts.baseUrl}/discover`, 'what there is to buy'],
    [`curl -i ${facts.baseUrl}/forecast/oslo`, 'what an unpaid call is answered: 402, with the terms'],
  ]
  console.log('\nTry, in a second terminal:\n')
  for (const [command, what] of commands) console.log(`  ${strong(command.padEnd(44))} ${what}`)
  console.log('\nCtrl-C stops everything.')
}

main().catch((cause: unknown) => {
  console.error(cause instanceof Error ? cause.message : cause)
  process.exit(1)
})
