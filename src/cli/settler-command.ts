import { defineCommand } from 'citty'
import { json, optional, type Run } from './command-args.ts'
import type { Terminal } from './terminal.ts'

/** `paystile deploy-settler`. */
export function settlerCommand(terminal: Terminal, run: Run) {
  return defineCommand({
    meta: {
      name: 'deploy-settler',
      description: 'put the settler contract on the chain, by the gas wallet, where it is not there already',
    },
    args: {
      network: optional('this network only; default: every configured one with a gas wallet', 'word'),
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { deploySettlers } = await import('./deploy-settler.ts')
        return deploySettlers(terminal, { json: args.json === true, network: args.network })
      }),
  })
}
