import { join } from 'node:path'
import { becomeNode } from './child.mjs'
import { ensureInstalled, ensureSimBuilt, runMain } from './prepare.mjs'

await runMain(async () => {
  await ensureInstalled()
  const built = await ensureSimBuilt()
  await becomeNode(join(built, 'test/sim/run-mutants.js'), process.argv.slice(2))
})
