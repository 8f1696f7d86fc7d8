import { expect, test } from 'vitest'
import { runTarget } from './run-target.ts'
import { TARGETS } from './targets.ts'

/** A few thousand in all; `npm run fuzz` sends as many as one has time for. */
const INPUTS: Record<string, number> = {
  configuration: 800,
  signatures: 150,
  access: 1500,
  routes: 400,
  a2a: 400,
  mcp: 300,
}

/** Inputs that all end in the same way prove nothing. */
const OUTCOMES: Record<string, string[]> = {
  'payment-header': ['decoded', 'refused'],
  'sign-in-header': ['read', 'refused'],
  'prepaid-headers': ['spends', 'refused', 'none'],
  'mpp-headers': ['decoded', 'INVALID_REQUEST', 'INVALID_PROOF', 'CHALLENGE_NOT_FOUND', 'METHOD_UNSUPPORTED'],
  amounts: ['a price', 'no price'],
  paths: ['fit', 'refused'],
  configuration: ['taken', 'missing', 'refused'],
  signatures: ['a signer', 'no signer'],
  receipts: ['genuine', 'refused', 'nothing found'],
  access: ['402', '400', '400 INVALID_REQUEST', '400 INVALID_PROOF', '402 PAYMENT_FAILED'],
  routes: ['402', '200', '204', '400 INVALID_REQUEST', '404 INVALID_REQUEST', '405 INVALID_REQUEST'],
  a2a: ['200', '200 -32602', '200 -32700'],
  mcp: ['200', '200 -32602', '400 -32700'],
}

test.each(TARGETS.map((target) => [target.name, target] as const))(
  'whatever strangers send to %s: no fault of ours, nothing sold, nothing slow',
  async (name, target) => {
    const run = await runTarget(target, { inputs: INPUTS[name] ?? 1500, seed: 1 })
    expect(run.failure).toBeUndefined()
    expect(run.inputs).toBeGreaterThanOrEqual(INPUTS[name] ?? 1500)
    expect([...run.outcomes.keys()]).toEqual(expect.arrayContaining(OUTCOMES[name]!))
  },
  180_000,
)
