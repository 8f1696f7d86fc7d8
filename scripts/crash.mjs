import { runHarness } from './run-harness.mjs'

await runHarness('test/crash/run.ts')
