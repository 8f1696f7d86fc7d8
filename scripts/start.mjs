import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureBuilt, ensureInstalled, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await ensureBuilt()
  await becomeNode(join(root, 'dist/sandbox/start-sandbox.js'), process.argv.slice(2))
})
