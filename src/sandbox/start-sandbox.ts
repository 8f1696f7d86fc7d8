import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Network } from '../protocol/network.ts'
import type { DevChain } from '../testing/dev-chain.ts'
import { startDevChains } from '../testing/dev-chains.ts'
import { startDemoBackend } from './demo-backend.ts'
import { PLANS, ROUTES } from './demo-catalog.ts'
import type { SandboxCommands } from './sandbox-commands.ts'
import { choosePort } from './sandbox-port.ts'
import { openSandbox } from './sandbox-state.ts'
import { showSandbox } from './show-sandbox.ts'

const BUYER_MICRO = 100_000_000n

/**
 * Starts a local chain with test USDC for each network, a demo seller's API, and the standalone server as a process of its
 * own, on the embedded store and configured by environment variables only. Ends this process when it is told to stop.
 */
export async function startSandbox(
  networks: readonly Network[],
  wanted: number,
  commands: SandboxCommands,
): Promise<void> {
  const startedAt = Date.now()
  const port = await choosePort(wanted)
  const sandbox = openSandbox(port)
  const baseUrl = `http://localhost:${port}`
  const [chains, backend] = await Promise.all([
    startDevChains(
      networks.map(({ chainId }) => chainId),
      { blockTimeSeconds: 1 },
    ),
    startDemoBackend(),
  ])
  const [first, ...further] = chains as [DevChain, ...DevChain[]]
  // The same keys have coins for gas on every chain.
  const [seller, gasWallet] = [first.account(0), first.account(1)]
  const buyer = await first.newBuyer({ micro: BUYER_MICRO })
  await Promise.all(further.map((chain) => chain.mint(buyer.address, BUYER_MICRO)))
  const adminToken = randomBytes(16).toString('hex')
  const dashboardUrl = `${baseUrl}/admin?token=${adminToken}`
  const gateway = startGateway({
    PORT: String(port),
    BASE_URL: baseUrl,
    ...networkVariables(chains),
    SVC_WALLET_ADDRESS: seller.address,
    GAS_WALLET_PRIVATE_KEY: gasWallet.privateKey,
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    PLANS: JSON.stringify(PLANS),
    ROUTES: JSON.stringify(ROUTES),
    PROXY_TO_BASE_URL: backend.url,
    TOKEN_SECRET: randomBytes(32).toString('hex'),
    AGENT_NAME: 'Sandbox weather',
    AGENT_DESCRIPTION: 'A demo seller on a local chain',
    DATA_DIR: sandbox.dataDir,
    SVC_MANAGED_INFRA: 'none',
    ADMIN_TOKEN: adminToken,
    MCP_ENABLED: 'true',
    POLL_INTERVAL_MS: '100',
    REFUND_INTERVAL_SECONDS: '2',
    REFUND_MIN_AGE_SECONDS: '2',
  })

  let stopping: Promise<void> | undefined
  const stop = (code: number): void => {
    stopping ??= (async () => {
      sandbox.remove()
      gateway.kill('SIGTERM')
      await exited(gateway)
      await Promise.all([...chains.map((chain) => chain.stop()), backend.close()])
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
    networks: chains.map(({ network, rpcUrl }) => ({ id: network, rpcUrl })),
    sellerAddress: seller.address,
    buyerPrivateKey: buyer.privateKey,
  })
  showSandbox({
    baseUrl,
    port,
    dashboardUrl,
    networks: networks.map((network, index) => ({ network, chain: chains[index]! })),
    seller,
    gasWallet,
    buyer,
    seconds: (Date.now() - startedAt) / 1000,
    commands,
  })
}

function networkVariables(chains: readonly DevChain[]): Record<string, string> {
  const [first, ...further] = chains as [DevChain, ...DevChain[]]
  if (further.length === 0) return { SVC_NETWORK: first.network, RPC_URL: first.rpcUrl }
  return {
    SVC_NETWORK: chains.map(({ network }) => network).join(','),
    ...Object.fromEntries(
      chains.flatMap(({ chainId, rpcUrl }) => [
        [`RPC_URL_${chainId}`, rpcUrl],
        // Coins of a local chain cost nothing, so that even a cent carries the gas of its settlement.
        [`NATIVE_USD_${chainId}`, '0.01'],
      ]),
    ),
  }
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
