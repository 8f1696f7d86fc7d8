import { defineCommand } from 'citty'
import { ConfigError } from '../errors.ts'
import { json, optional, type Run } from './command-args.ts'
import type { Terminal } from './terminal.ts'

/** `paystile webhooks`. */
export function webhooksCommand(terminal: Terminal, run: Run) {
  const list = defineCommand({
    meta: { name: 'list', description: 'the newest deliveries of events, with the last answer of each' },
    args: {
      waiting: { type: 'boolean', description: 'only those that wait for their next try' },
      parked: { type: 'boolean', description: 'only those that were tried in vain for three days' },
      challenge: optional('only those of this challenge', 'id'),
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { waiting, parked, challenge } = args
        if (waiting && parked)
          throw new ConfigError(['--waiting and --parked are two lists: ask for one of them.'])
        const phase = parked ? 'parked' : waiting ? 'waiting' : undefined
        return (await import('./webhooks.ts')).listDeliveries(terminal, { phase, challenge })
      }),
  })
  const show = defineCommand({
    meta: { name: 'show', description: 'one delivery: what is sent, and what was answered' },
    args: { delivery: { type: 'positional', required: true, description: 'as in the list' }, json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./webhooks.ts')).showOne(terminal, args.delivery)),
  })
  const resend = defineCommand({
    meta: { name: 'resend', description: 'send events again, under the ids that they had' },
    args: {
      delivery: { type: 'positional', required: false, description: 'one, as in the list' },
      parked: { type: 'boolean', description: 'all that are parked' },
      from: optional('what happened from this day or time on, also before there was an endpoint', 'time'),
      to: optional('the end of that range, exclusive; default: now', 'time'),
      undelivered: {
        type: 'boolean',
        description: 'of that range, only what did not arrive; 30 days back at most',
      },
      endpoint: optional('only to this endpoint; default: to all', 'id'),
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { delivery, parked, from, to, undelivered, endpoint } = args
        const which = { key: delivery, parked, from, to, undelivered, endpoint }
        return (await import('./webhooks.ts')).resendDeliveries(terminal, which)
      }),
  })
  const test = defineCommand({
    meta: { name: 'test', description: 'send an example to each endpoint now, and say what it answers' },
    args: { json },
    run: ({ args }) => run(args.json, async () => (await import('./webhooks.ts')).testEndpoints(terminal)),
  })
  const secret = defineCommand({
    meta: {
      name: 'secret',
      description: 'show the secrets that were made for endpoints without one: copy them to the receivers',
    },
    args: { json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./webhook-secrets.ts')).showSecrets(terminal)),
  })
  return defineCommand({
    meta: { name: 'webhooks', description: 'list deliveries of events, show them, or send them again' },
    subCommands: { list, show, resend, test, secret },
  })
}
