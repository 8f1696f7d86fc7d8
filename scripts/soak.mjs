import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, ensureSystem, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureSystem(['redis', 'postgres'])
  await ensureBuilt()
  // The harness runs as TypeScript; the servers that it starts are the build.
  const { runnerImport } = await import('vite')
  await runnerImport(join(root, 'test/soak/run.ts'), { configFile: false, root, logLevel: 'error' })
})
