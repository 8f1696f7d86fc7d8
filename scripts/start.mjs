import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureInstalled, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureChain()
  await becomeNode(join(root, 'dist/sandbox/main.js'), ['start', ...process.argv.slice(2)])
})
