import { z } from 'zod'

/** Something that a tool call buys, as plain JSON: it is kept with its order and can be finished after a crash. */
export const PurchaseSchema = z.discriminatedUnion('kind', [
  /** One call of a paid address. `body` is JSON text. */
  z.object({ kind: z.literal('call'), method: z.string(), url: z.string(), body: z.string().optional() }),
  z.object({
    kind: z.literal('plan'),
    baseUrl: z.string(),
    planId: z.string(),
    resourceId: z.string().optional(),
  }),
  /** One call of a tool of a paid MCP server. */
  z.object({
    kind: z.literal('tool'),
    url: z.string(),
    tool: z.string(),
    args: z.record(z.string(), z.unknown()),
  }),
])
export type Purchase = z.infer<typeof PurchaseSchema>

/** What is bought, for people. */
export function describePurchase(purchase: Purchase): string {
  switch (purchase.kind) {
    case 'call':
      return `${purchase.method} ${cut(purchase.url, MAX_URL)}${withWords(purchase.body)}`
    case 'plan':
      return `plan ${purchase.planId} of ${purchase.baseUrl}`
    case 'tool':
      return `tool ${cut(purchase.tool, MAX_WORDS)} of ${purchase.url}${withWords(JSON.stringify(purchase.args))}`
  }
}

const MAX_WORDS = 200
/** Of an address, whose path is the seller's. */
const MAX_URL = 2000
export const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text

/** Enough of the arguments to know the call again. */
function withWords(json = '{}'): string {
  if (json === '{}') return ''
  return ` with ${cut(json, MAX_WORDS)}`
}

export function hostOf(purchase: Purchase): string {
  return new URL(purchase.kind === 'plan' ? purchase.baseUrl : purchase.url).host
}

/** The same value with sorted keys: a model may write the same arguments in another order. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]))
}
