import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureBenchBuilt, ensureBuilt, ensureInstalled, ensureSystem, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureSystem(['redis', 'postgres'])
  // Measures the package as it is published; the benchmark itself is built separately.
  await ensureBuilt()
  const built = await ensureBenchBuilt()
  await becomeNode(join(built, 'bench/run.js'), [root, ...process.argv.slice(2)])
})
