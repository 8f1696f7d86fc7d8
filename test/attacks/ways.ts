import type { PaymentRequirements } from '../../src/protocol/payment.ts'
import { dataOf, rawAgent, requiredOf } from '../e2e/a2a-agent.ts'
import { post, said, type ToolResult, toolCall } from '../e2e/mcp-clients.ts'
import type { World } from '../e2e/world.ts'
import { headerOf } from './forge.ts'

/** A grant's fields, or an error's code; `text` is the whole answer, to search it for what must not be there. */
export interface Said {
  accessToken?: string
  txHash?: string
  code?: string
  httpStatus: number
  retryAfter: string | null
  text: string
}

/** One of the ways to buy a plan. */
export interface Way {
  ask(body: { planId: string; requestId: string }): Promise<{ accepted: PaymentRequirements; text: string }>
  /** `body`: what is asked for, where the way repeats it beside the payment. */
  pay(payload: object, body: { planId: string; requestId: string }): Promise<Said>
}

export const WAYS: Record<'HTTP' | 'A2A' | 'MCP', (world: World) => Way> = {
  HTTP: (world) => ({
    async ask(body) {
      const required = await world.terms(body)
      return { accepted: required.accepts[0]!, text: JSON.stringify(required) }
    },
    async pay(payload, body) {
      const answer = await world.pay(headerOf(payload), body)
      return saidBy(answer.body, answer.status, answer.headers, answer.body)
    },
  }),

  A2A(world) {
    const agent = rawAgent(`${world.baseUrl}/a2a`)
    return {
      async ask(body) {
        const { result } = await agent.ask(body)
        return { accepted: requiredOf(result)!.accepts[0]!, text: JSON.stringify(result) }
      },
      async pay(payload) {
        const { httpStatus, headers, result, error } = await agent.pay(payload as never)
        return saidBy(dataOf(result) ?? error?.data, httpStatus, headers, result)
      },
    }
  },

  MCP(world) {
    const send = async (body: unknown) => {
      const response = await post(world.baseUrl, body)
      const answer = (await response.json()) as { result: ToolResult; error?: { data: unknown } }
      return { response, ...answer }
    }
    return {
      async ask(body) {
        const { result } = await send(toolCall('request_access', body))
        return { accepted: result.structuredContent!.accepts![0]!, text: JSON.stringify(result) }
      },
      async pay(payload, body) {
        const call = toolCall('request_access', body, { 'x402/payment': payload })
        const { response, result, error } = await send(call)
        return saidBy(error?.data ?? said(result), response.status, response.headers, result)
      },
    }
  },
}

function saidBy(fields: unknown, httpStatus: number, headers: Headers, whole: unknown): Said {
  const { accessToken, txHash, code } = (fields ?? {}) as Pick<Said, 'accessToken' | 'txHash' | 'code'>
  return {
    ...(accessToken !== undefined && { accessToken }),
    ...(txHash !== undefined && { txHash }),
    ...(code !== undefined && { code }),
    httpStatus,
    retryAfter: headers.get('retry-after'),
    text: JSON.stringify(whole) ?? '',
  }
}
