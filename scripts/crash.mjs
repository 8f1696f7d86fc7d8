import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, ensureSystem, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureSystem(['redis', 'postgres'])
  await ensureBuilt()
  // The harness runs as TypeScript; the processes that it kills run the build.
  const { runnerImport } = await import('vite')
  await runnerImport(join(root, 'test/crash/run.ts'), { configFile: false, root, logLevel: 'error' })
})
