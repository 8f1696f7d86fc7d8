import type { DevAccount } from '../../src/testing/index.ts'
import { rawAgent, requiredOf } from './a2a-agent.ts'
import { startRoutesWorld } from './routes-world.ts'

/** A shop that sells over A2A, and an agent that opens tasks there. */
export async function startTasksWorld() {
  const routes = await startRoutesWorld({
    options: { a2a: { streaming: true }, agentName: 'Weather', refundMinAgeSeconds: 3600 },
  })
  const { world } = routes
  const agent = rawAgent(`${world.baseUrl}/a2a`)
  let count = 0
  return {
    routes,
    agent,
    async opened(data: Record<string, unknown> = { planId: 'basic' }) {
      const { result } = await agent.ask({ requestId: `task-${++count}`, ...data })
      return { task: result!, id: result!.id, required: requiredOf(result)! }
    },
    buyerWith: (micro: bigint): Promise<DevAccount> => world.chain.newBuyer({ micro }),
  }
}

export type TasksWorld = Awaited<ReturnType<typeof startTasksWorld>>

/** An answer with a task in this state, whose payment has this status. */
export const told = (state: string, status: string, error?: string) => ({
  result: {
    status: { state, message: { metadata: { 'x402.payment.status': status } } },
    metadata: { 'x402.payment.status': status, ...(error && { 'x402.payment.error': error }) },
  },
})
