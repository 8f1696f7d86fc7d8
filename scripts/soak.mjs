import { runHarness } from './run-harness.mjs'

await runHarness('test/soak/run.ts')
