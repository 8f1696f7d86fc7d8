import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureBuilt, ensureInstalled, root, runMain } from './prepare.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
  await becomeNode(join(root, 'dist/cli/main.js'), ['serve', ...process.argv.slice(2)])
})
