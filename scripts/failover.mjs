import { join } from 'node:path'
import { bundleServer } from './bundle-server.mjs'
import { ensureBuilt, ensureInstalled, ensureSystem, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureSystem(['redis', 'postgres'])
  await ensureBuilt()
  process.env.PAYSTILE_SERVER_PROGRAM = await bundleServer()
  // The harness runs as TypeScript; the servers that it kills run the build.
  const { runnerImport } = await import('vite')
  await runnerImport(join(root, 'test/failover/run.ts'), { configFile: false, root, logLevel: 'error' })
})
