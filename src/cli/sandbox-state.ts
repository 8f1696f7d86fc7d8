import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hex } from '../protocol/hex.ts'

/** What the sandbox tells the buyer in the other terminal. Test keys only. */
export interface SandboxState {
  baseUrl: string
  rpcUrl: string
  sellerAddress: Hex
  buyerPrivateKey: Hex
}

export const SANDBOX_DIR = '.sandbox'
const FILE = join(SANDBOX_DIR, 'state.json')

/** The chain starts anew each time, so what the last run stored belongs to a chain that is gone. */
export function clearSandbox(): void {
  rmSync(SANDBOX_DIR, { recursive: true, force: true })
  mkdirSync(SANDBOX_DIR, { recursive: true })
}

export function writeSandboxState(state: SandboxState): void {
  writeFileSync(FILE, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
}

export function removeSandboxState(): void {
  rmSync(FILE, { force: true })
}

export function readSandboxState(): SandboxState | undefined {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as SandboxState
  } catch {
    return undefined
  }
}
