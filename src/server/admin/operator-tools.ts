import { z } from 'zod'
import { CHALLENGE_STATES } from '../../protocol/access.ts'
import { RANGES } from './sale-figures.ts'
import { PHASES } from './webhook-pages.ts'

/** A request to the operator's API, which answers the tool. */
export interface ApiCall {
  path: string
  /** Of a POST; absent: a GET. */
  body?: object
}

export interface OperatorTool {
  name: string
  description: string
  args: z.ZodObject
  /** It changes something, so it is offered only where the operator allows that. */
  writes?: true
  /** `doctor` asks the world, and not the API. */
  call(args: Record<string, unknown>): ApiCall | 'doctor'
}

const challengeId = z.string().min(1).max(200).describe('As in list_sales.')
const one = z.strictObject({ challengeId })
const nothing = z.strictObject({})
const at = (args: Record<string, unknown>) => `/challenges/${encodeURIComponent(String(args.challengeId))}`

function query(path: string, args: Record<string, unknown>): ApiCall {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(args)) if (value !== undefined) given.set(name, String(value))
  const text = given.toString()
  return { path: text === '' ? path : `${path}?${text}` }
}

/** What the operator's agent can ask and do. */
export const OPERATOR_TOOLS: readonly OperatorTool[] = [
  {
    name: 'sales_overview',
    description: 'Revenue, sales, refunds, settlement times, wallets, networks and alerts of a range.',
    args: z.strictObject({ range: z.enum(RANGES).default('24h') }),
    call: (args) => query('/overview', args),
  },
  {
    name: 'list_sales',
    description: 'Sales, the newest first; q searches ids, payers, transactions and plans.',
    args: z.strictObject({
      q: z.string().max(200).optional(),
      state: z.enum(CHALLENGE_STATES).optional(),
      kind: z.enum(['plan', 'route']).optional(),
      limit: z.int().min(1).max(100).default(20),
      before: z.string().optional().describe('`next` of the answer before.'),
    }),
    call: (args) => query('/challenges', args),
  },
  {
    name: 'show_sale',
    description: 'One sale with its log, payments, refunds and credits: what happened, and why.',
    args: one,
    call: (args) => ({ path: at(args) }),
  },
  {
    name: 'list_refunds',
    description: 'Every payment that should go back and has not yet, with the reason why it waits.',
    args: nothing,
    call: () => ({ path: '/refunds' }),
  },
  {
    name: 'list_credits',
    description: 'Credits sold, spent and outstanding, per plan and wallet.',
    args: nothing,
    call: () => ({ path: '/credits' }),
  },
  {
    name: 'list_webhooks',
    description: 'The newest deliveries of events, with the answer of the endpoint to each.',
    args: z.strictObject({ phase: z.enum(PHASES).optional() }),
    call: (args) => query('/webhooks/deliveries', args),
  },
  {
    name: 'doctor',
    description:
      'Asks everything that the server depends on: nodes, wallets, stores, facilitator; with the fix.',
    args: nothing,
    call: () => 'doctor',
  },
  {
    name: 'retry_refund',
    description: 'Tries a refund again that failed. The money goes to the wallet that paid.',
    args: one,
    writes: true,
    call: (args) => ({ path: `${at(args)}/retry-refund`, body: {} }),
  },
  {
    name: 'close_credits',
    description: 'Ends a purchase of credits; what is unspent is refunded to the wallet that paid.',
    args: one,
    writes: true,
    call: (args) => ({ path: `${at(args)}/close-credits`, body: {} }),
  },
  {
    name: 'cancel_challenge',
    description: 'Cancels an offer that was not paid.',
    args: one,
    writes: true,
    call: (args) => ({ path: `${at(args)}/cancel`, body: {} }),
  },
  {
    name: 'resend_webhooks',
    description: 'Sends one delivery again by its key, all that are parked, or those of a range of time.',
    args: z.strictObject({
      key: z.string().max(200).optional(),
      parked: z.boolean().optional(),
      from: z.string().max(40).optional().describe('Such as 2030-01-31T00:00:00Z.'),
      to: z.string().max(40).optional().describe('Default: now.'),
      undelivered: z
        .boolean()
        .optional()
        .describe('Of a range of the last 30 days: only what did not arrive.'),
    }),
    writes: true,
    call: (args) => ({ path: '/webhooks/resend', body: args }),
  },
]
