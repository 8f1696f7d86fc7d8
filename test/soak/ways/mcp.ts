import type { PaymentRequired } from '../../../src/protocol/payment.ts'
import { said, type ToolResult, toolCall } from '../../e2e/mcp-clients.ts'
import type { Deal, Said } from '../deal.ts'
import { askTerms, newDeal, post, signExact, type Way } from '../market.ts'
import { readFields } from '../read-answer.ts'
import { cityFor, nameFor } from './x402.ts'

interface Answer {
  result?: ToolResult
  error?: { code?: number; data?: unknown; message: string }
}

async function call(
  origin: string,
  tool: string,
  args: object,
  meta: object | undefined,
  signal: AbortSignal,
): Promise<Answer & { status: number }> {
  const accept = { accept: 'application/json, text/event-stream' }
  const response = await fetch(`${origin}/mcp`, { ...post(toolCall(tool, args, meta), accept), signal })
  return { status: response.status, ...((await response.json()) as Answer) }
}

function read({ status, result, error }: Answer & { status: number }): Said {
  // An internal error of JSON-RPC says that nothing was decided.
  if (error?.code === -32603) return { kind: 'pending', text: error.message }
  const fields = (result ? said(result) : (error?.data ?? {})) as Record<string, unknown>
  // Terms in the place of an answer: the payment was refused.
  const stated = (fields.httpStatus as number | undefined) ?? ('accepts' in fields ? 402 : status)
  return readFields(fields, stated, JSON.stringify(result ?? error ?? null))
}

const buyTool =
  (way: string, tool: string, argsOf: (...given: Parameters<Way>) => Record<string, unknown>): Way =>
  async (market, wallet, name): Promise<Deal | undefined> => {
    const args = argsOf(market, wallet, name)
    const required = await askTerms(market, async (origin, signal) => {
      const { result } = await call(origin, tool, args, undefined, signal)
      const terms = result?.structuredContent
      return terms?.accepts ? (terms as PaymentRequired) : undefined
    })
    if (!required) return undefined
    const accepted = required.accepts[0]!
    const meta = { 'x402/payment': await signExact(wallet, accepted) }
    return newDeal(wallet, {
      way,
      challengeId: accepted.extra.challengeId,
      priceMicro: BigInt(accepted.amount),
      send: async (origin, signal) => read(await call(origin, tool, args, meta, signal)),
    })
  }

export const planByMcp = buyTool('mcp plan', 'request_access', (market, _wallet, name) => ({
  planId: 'basic',
  ...nameFor(market, name),
}))

export const routeByMcp = buyTool('mcp route', 'weather', (market, _wallet, name) => ({
  city: cityFor(market, name),
  ...nameFor(market, name),
}))
