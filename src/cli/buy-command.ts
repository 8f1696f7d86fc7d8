import { defineCommand } from 'citty'
import { checkFlags } from './check-flags.ts'
import { json, optional, type Run } from './command-args.ts'
import type { Terminal } from './terminal.ts'

const ARGS = {
  url: {
    type: 'positional',
    required: true,
    description: 'a paid call, or a gateway: then it lists what is sold',
  },
  'max-amount': optional("the most that it may cost, for example '$0.05'", 'dollars'),
  plan: optional('buy this plan of the gateway at the address, and show its token', 'id'),
  method: optional('of the call; default: GET, with --data POST', 'method'),
  data: optional('the body of the call', 'text'),
  'key-file': optional('a file with the private key that pays; default: BUYER_PRIVATE_KEY', 'file'),
  payments: optional('where payments are remembered; default: ~/.paystile/payments', 'folder'),
  approve: {
    type: 'boolean',
    description:
      'let Permit2 charge a metered call where that is missing: a transaction, paid with the chain’s coin',
  },
  'rpc-url': optional('a node of the network that is paid on; default: a public one', 'url'),
  output: optional('write the answer to this file', 'file'),
  json,
} as const

/** `paystile buy`. */
export function buyCommand(terminal: Terminal, run: Run) {
  return defineCommand({
    meta: { name: 'buy', description: 'pay for a call or a plan at any x402 address, and show the answer' },
    args: ARGS,
    run: ({ args, rawArgs }) =>
      run(args.json, async () => {
        checkFlags(rawArgs, ARGS)
        return (await import('./buy.ts')).buy(terminal, args.url, args)
      }),
  })
}
