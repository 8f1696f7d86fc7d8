import { expect, test } from 'vitest'
import { repetitions } from '../at-length.ts'
import { runTarget } from './run-target.ts'
import { TARGETS } from './targets.ts'

/** `npm run fuzz` sends as many as one has time for. */
const INPUTS: Record<string, { few: number; many: number }> = {
  configuration: { few: 80, many: 800 },
  signatures: { few: 50, many: 150 },
  access: { few: 150, many: 1500 },
  routes: { few: 100, many: 400 },
  a2a: { few: 80, many: 400 },
  mcp: { few: 100, many: 300 },
  // A whole credential is rare among them.
  'mpp-headers': { few: 300, many: 1500 },
}
const OTHERS = { few: 150, many: 1500 }

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
    const inputs = repetitions(INPUTS[name] ?? OTHERS)
    const run = await runTarget(target, { inputs, seed: 21 })
    expect(run.failure).toBeUndefined()
    expect(run.inputs).toBeGreaterThanOrEqual(inputs)
    expect([...run.outcomes.keys()]).toEqual(expect.arrayContaining(OUTCOMES[name]!))
  },
  180_000,
)
