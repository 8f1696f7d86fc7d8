import { ensureBuilt, ensureInstalled, runMain } from './prepare.mjs'

// tsc alone would leave out the Lua scripts of the Redis store and the browser pages.
await runMain(async () => {
  await ensureInstalled()
  await ensureBuilt()
})
