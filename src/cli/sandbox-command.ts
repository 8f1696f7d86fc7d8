import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineCommand } from 'citty'
import { ConfigError } from '../errors.ts'
import { optional, type Run } from './command-args.ts'

interface Sandbox {
  runInstalledSandbox(words: readonly string[]): Promise<void>
}

/**
 * `paystile sandbox`. What it runs is loaded by its address and not by an import: production builds leave the sandbox
 * and the test kit out, and nothing that a server loads leads there.
 */
export function sandboxCommand(run: Run) {
  return defineCommand({
    meta: { name: 'sandbox', description: 'try everything on a local chain, with a demo seller and a buyer' },
    args: {
      action: {
        type: 'positional',
        required: false,
        description: 'start (the default), buy: from a sandbox that runs, or install: the local chain',
      },
      place: { type: 'positional', required: false, description: 'with buy: the port of the sandbox' },
      networks: optional(
        'with start: a local chain for each, for example base-sepolia,celo-sepolia',
        'words',
      ),
      network: optional('with buy: pay on this network only', 'word'),
    },
    run: ({ rawArgs }) =>
      run(false, async () => {
        const program = new URL('../sandbox/run-sandbox.js', import.meta.url)
        if (!existsSync(fileURLToPath(program)))
          throw new ConfigError([
            'The sandbox is not part of the container. Elsewhere: npm install paystile && npx paystile sandbox',
          ])
        const { runInstalledSandbox } = (await import(program.href)) as Sandbox
        await runInstalledSandbox(rawArgs)
        return undefined
      }),
  })
}
