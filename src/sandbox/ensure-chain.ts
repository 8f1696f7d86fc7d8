import { styleText } from 'node:util'
import { fetchEmulatedAnvil } from '../testing/fetch-emulated-anvil.ts'
import { AnvilMissingError, EMULATE_ANVIL, INSTALL_ANVIL, resolveAnvil } from '../testing/resolve-anvil.ts'
import { runNpm } from '../testing/run-program.ts'

const BUILD_MB = 25
const EMULATED_MB = 100

/**
 * Makes sure that there is a local chain. It is large and only for tests, so nobody gets it unasked: `may` says whether it
 * may be installed, by asking at a terminal or because the command said so; otherwise the error names the command.
 */
export async function ensureChain(may: (question: string) => Promise<boolean>): Promise<void> {
  const missing = whatIsMissing()
  if (missing?.missing === 'package') {
    if (!(await may(`The local chain is not installed. Run ${INSTALL_ANVIL} now? (${BUILD_MB} MB)`)))
      throw missing
    const [, ...words] = INSTALL_ANVIL.split(' ')
    say(INSTALL_ANVIL)
    const { code } = await runNpm(words, { show: true })
    if (code !== 0) throw new Error(`${INSTALL_ANVIL} failed with exit code ${code}.`)
  }
  const left = whatIsMissing()
  if (!left) return
  if (left.missing !== 'emulator') throw left
  const asked = `There is none for this machine in the registry. Run ${EMULATE_ANVIL} now? (${EMULATED_MB} MB, without root)`
  if (!(await may(asked))) throw left
  say('setting up the local chain for x64 in the emulator box64, which takes a minute…')
  await fetchEmulatedAnvil()
  resolveAnvil()
}

function whatIsMissing(): AnvilMissingError | undefined {
  try {
    resolveAnvil()
    return undefined
  } catch (cause) {
    if (cause instanceof AnvilMissingError) return cause
    throw cause
  }
}

const say = (text: string): void => console.log(styleText('dim', text))

/** Asks at a terminal; elsewhere nobody could answer. */
export async function askToInstall(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false
  const { confirm } = await import('@clack/prompts')
  return (await confirm({ message: question })) === true
}
