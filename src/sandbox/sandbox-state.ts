import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hex } from '../protocol/hex.ts'

/** What a buyer needs to know of a running sandbox. Test keys only. */
export interface SandboxState {
  /** Of the sandbox: when this process is gone, nothing else here is valid. */
  pid: number
  /** Milliseconds since the epoch. */
  startedAt: number
  baseUrl: string
  /** Opens without a login. */
  dashboardUrl: string
  /** Where it sells, in the order in which it offers them. */
  networks: Array<{ id: string; rpcUrl: string }>
  sellerAddress: Hex
  buyerPrivateKey: Hex
}

const SANDBOXES = '.sandbox'
const STATE = 'state.json'

/**
 * Creates the folder of the sandbox on this port; several may run at once. Whatever an earlier one left there is removed:
 * every sandbox starts a new chain, so old records belong to a chain that is gone.
 */
export function openSandbox(port: number, sandboxes = SANDBOXES) {
  const folder = join(sandboxes, String(port))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  // In a seller's own project nothing of it should be committed.
  writeFileSync(join(sandboxes, '.gitignore'), '*\n')
  return {
    dataDir: join(folder, 'data'),
    write(state: SandboxState): void {
      writeFileSync(join(folder, STATE), `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
    },
    remove(): void {
      rmSync(join(folder, STATE), { force: true })
    },
  }
}

/** The sandboxes that run, newest first; only the `wanted` one if a port or address is given. */
export function findSandboxes(wanted?: string, sandboxes = SANDBOXES): SandboxState[] {
  const states = listFolders(sandboxes).flatMap((name) => readState(join(sandboxes, name, STATE)))
  const isWanted = ({ baseUrl }: SandboxState) =>
    wanted === undefined || [new URL(baseUrl).port, baseUrl].includes(wanted.replace(/\/+$/, ''))
  return states
    .filter((state) => isRunning(state.pid) && isWanted(state))
    .sort((a, b) => b.startedAt - a.startedAt)
}

function listFolders(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function readState(path: string): SandboxState[] {
  try {
    const { rpcUrl, ...state } = JSON.parse(readFileSync(path, 'utf8')) as SandboxState & { rpcUrl?: string }
    // A sandbox of the version before, which has one chain, may still run.
    const networks = rpcUrl === undefined ? state.networks : [{ id: 'eip155:84532', rpcUrl }]
    return [{ ...state, networks }]
  } catch {
    return []
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
