import { bundleServer } from './bundle-server.mjs'
import { runHarness } from './run-harness.mjs'

await runHarness('test/crash/run.ts', async () => {
  process.env.PAYSTILE_SERVER_PROGRAM = await bundleServer()
})
