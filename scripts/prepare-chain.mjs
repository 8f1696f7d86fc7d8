import { delimiter, dirname } from 'node:path'
import { ensureBuilt, PrepareError } from './prepare.mjs'

/**
 * Builds, and makes sure that anvil, the local chain, can run: the build of npm for this machine, or one on the PATH. On 64-bit
 * ARM Linux, where a registry may lack that build, the one for x64 runs in an emulator, which is slower.
 */
export async function ensureChain() {
  await ensureBuilt()
  const { AnvilMissingError, resolveAnvil } = await import('../dist/testing/resolve-anvil.js')
  try {
    usePath(resolveAnvil)
  } catch (error) {
    if (!(error instanceof AnvilMissingError) || error.missing !== 'emulator') {
      throw new PrepareError(error.message)
    }
    console.log('No anvil for this machine in the registry: the one for x64 will run under box64…')
    const { fetchEmulatedAnvil } = await import('../dist/testing/fetch-emulated-anvil.js')
    await fetchEmulatedAnvil().catch((cause) => {
      throw new PrepareError(cause.message)
    })
    usePath(resolveAnvil)
  }
}

/** Programs that are compiled into other folders look for it on the PATH. */
function usePath(resolveAnvil) {
  process.env.PATH = [dirname(resolveAnvil()), process.env.PATH].join(delimiter)
}
