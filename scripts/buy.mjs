import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureBuilt, ensureInstalled, root, runMain } from './prepare.mjs'

await runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
  await becomeNode(join(root, 'dist/sandbox/main.js'), ['buy', ...process.argv.slice(2)])
})
