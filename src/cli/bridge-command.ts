import { defineCommand } from 'citty'
import { SEVERAL } from './check-flags.ts'
import { json, optional, type Run } from './command-args.ts'
import type { Terminal } from './terminal.ts'

const ARGS = {
  url: {
    type: 'positional',
    required: false,
    valueHint: SEVERAL,
    description: 'gateways, paid MCP servers or paid calls; as many as you like',
  },
  'max-amount': optional("the most that one payment may be, for example '$0.05'", 'dollars'),
  'max-total': optional("the most that all payments of a day (UTC) may be, for example '$2.00'", 'dollars'),
  'allow-host': optional(
    'the only host that may be paid; again for another. Default: the hosts of the addresses',
    `host${SEVERAL}`,
  ),
  confirm: { type: 'boolean', description: 'ask before every payment' },
  'key-file': optional('a file with the private key that pays; default: BUYER_PRIVATE_KEY', 'file'),
  ledger: optional('where the ledger is kept; default: ~/.paystile/bridge', 'folder'),
  spending: { type: 'boolean', description: 'show the ledger, and end' },
  json,
} as const

/** `paystile bridge`. */
export function bridgeCommand(terminal: Terminal, run: Run) {
  return defineCommand({
    meta: {
      name: 'bridge',
      description: 'an MCP server over stdio that lets an assistant buy within a budget',
    },
    args: ARGS,
    run: ({ args, rawArgs }) =>
      run(args.spending === true && args.json === true, async () => {
        const { bridge } = await import('./bridge.ts')
        return bridge(terminal, args._, { ...args, 'allow-host': valuesOf(rawArgs, '--allow-host') })
      }),
  })
}

/** All values of an option that may be given more than once. */
function valuesOf(rawArgs: readonly string[], flag: string): string[] {
  return rawArgs.flatMap((word, at) => {
    if (word === flag) return rawArgs[at + 1] ?? []
    return word.startsWith(`${flag}=`) ? word.slice(flag.length + 1) : []
  })
}
