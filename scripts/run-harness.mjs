import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, ensureSystem, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

/** Runs a harness of ours as TypeScript; the servers that it starts and kills run the build. `prepare`: what it needs beside that. */
export async function runHarness(file, prepare = async () => {}) {
  await runMain(async () => {
    await ensureInstalled()
    await ensureChain()
    await ensureSystem(['redis', 'postgres'])
    await ensureBuilt()
    await prepare()
    const { runnerImport } = await import('vite')
    await runnerImport(join(root, file), { configFile: false, root, logLevel: 'error' })
  })
}
