import { expect, test } from 'vitest'
import type { Backstage } from '../../backstage.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { OPERATOR_TOOLS } from './operator-tools.ts'
import { webhookPage } from './webhook-pages.ts'

test.each(['waiting', 'parked', 'delivered', undefined])(
  'list_webhooks takes the phase %s if and only if the API does',
  async (phase) => {
    const tool = OPERATOR_TOOLS.find(({ name }) => name === 'list_webhooks')!
    const query = new URLSearchParams(phase === undefined ? {} : { phase })
    const backstage = { store: createMemoryStore() } as unknown as Backstage
    const answer = await webhookPage(backstage, '/webhooks/deliveries', query)
    expect(tool.args.safeParse({ phase }).success).toBe(answer!.status === 200)
  },
)
