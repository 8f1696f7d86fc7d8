import { expect, test } from 'vitest'
import { runTarget } from './run-target.ts'
import { TARGETS } from './targets.ts'

/** A few thousand in all; `npm run fuzz` sends as many as one has time for. */
const INPUTS: Record<string, number> = { signatures: 150, access: 500, routes: 300, a2a: 300, mcp: 250 }

test.each(TARGETS.map((target) => [target.name, target] as const))(
  'whatever strangers send to %s: no fault of ours, nothing sold, nothing slow',
  async (name, target) => {
    const run = await runTarget(target, { inputs: INPUTS[name] ?? 1500, seed: 1 })
    expect(run.failure).toBeUndefined()
    expect(run.inputs).toBeGreaterThanOrEqual(INPUTS[name] ?? 1500)
  },
  180_000,
)
