import createFastify from 'fastify'
import { expect, test } from 'vitest'
import type { AdminGateway, EmbeddedGateway, ShopGateway } from './embedding.ts'
import * as onExpress from './express.ts'
import * as onFastify from './fastify.ts'
import * as onHono from './hono.ts'

type Given = EmbeddedGateway & ShopGateway & AdminGateway
const token = 'the-token-of-the-operator'

async function registered(gateway: Given) {
  const app = createFastify()
  try {
    await app.register(onFastify.paystile, { gateway })
  } finally {
    await app.close()
  }
}

const common = (adapter: typeof onExpress | typeof onHono) => ({
  paystile: (gateway: Given) => adapter.paystile(gateway),
  shopWindow: (gateway: Given) => adapter.shopWindow(gateway),
  paystileAdmin: (gateway: Given) => adapter.paystileAdmin(gateway, { token }),
  payPerRequest: (gateway: Given) => adapter.payPerRequest(gateway, 'weather'),
  requireAccess: (gateway: Given) => adapter.requireAccess(gateway),
})
const entries: Record<string, Record<string, (gateway: Given) => unknown>> = {
  Express: common(onExpress),
  Hono: common(onHono),
  Fastify: {
    paystile: registered,
    shopWindow: (gateway) => onFastify.shopWindow(gateway),
    paystileAdmin: (gateway) => onFastify.paystileAdmin(gateway, { token }),
  },
}

test.each(
  Object.entries(entries).flatMap(([framework, functions]) =>
    Object.entries(functions).map(([name, call]) => [framework, name, call] as const),
  ),
)('%s: %s refuses at once a promise of a gateway, or nothing', async (_framework, name, call) => {
  for (const given of [Promise.resolve({}), undefined, null, {}, 'gateway']) {
    const made = async () => call(given as unknown as Given)
    await expect(made()).rejects.toThrow(`${name}: give it the gateway itself: await createGateway(…)`)
  }
})
