import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureInstalled, ensureSimBuilt, runMain } from './prepare.mjs'

await runMain(async () => {
  await ensureInstalled()
  const built = await ensureSimBuilt()
  await becomeNode(join(built, 'test/sim/run.js'), process.argv.slice(2))
})
