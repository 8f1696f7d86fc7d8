import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureFuzzBuilt, ensureInstalled, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  const built = await ensureFuzzBuilt()
  await becomeNode(join(built, 'test/fuzz/run.js'), process.argv.slice(2))
})
