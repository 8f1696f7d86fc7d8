import Fastify from 'fastify'
import { createGateway } from 'paystile'
import { paystile, paystileAdmin } from 'paystile/fastify'

const { env } = process
const port = Number(env.PORT ?? 3000)

const gateway = await createGateway({
  walletAddress: env.SVC_WALLET_ADDRESS,
  network: env.SVC_NETWORK,
  rpcUrl: env.RPC_URL,
  gasWalletPrivateKey: env.GAS_WALLET_PRIVATE_KEY,
  refundWalletPrivateKey: env.REFUND_WALLET_PRIVATE_KEY,
  tokenSecret: env.TOKEN_SECRET,
  store: { dataDir: env.DATA_DIR ?? 'data' },
  baseUrl: env.BASE_URL ?? `http://localhost:${port}`,
  routes: [
    { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
    { routeId: 'translate', method: 'POST', path: '/translate', unitAmount: '$0.02' },
  ],
  plans: [{ planId: 'hourly', unitAmount: '$0.25', description: 'Forecasts for an hour' }],
})

const app = Fastify()
await app.register(paystile, { gateway }) // /discover, /x402/access, …
if (env.ADMIN_TOKEN) {
  // Your sales.
  await app.register(paystileAdmin(gateway, { token: env.ADMIN_TOKEN }), { prefix: '/office' })
}

app.get('/', async () => 'Free, like any other route. Prices: /discover\n')

// One payment, one call.
app.get('/weather/:city', { preHandler: app.payPerRequest('weather') }, async (request) => ({
  city: request.params.city,
  sky: 'clear',
  paidBy: request.svcPayment.payer,
}))

// The schema refuses bad input before anybody pays for it.
const schema = { body: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } }
app.post('/translate', { schema, preHandler: app.payPerRequest('translate') }, async (request) => ({
  text: [...request.body.text].reverse().join(''),
  paidBy: request.svcPayment.payer,
}))

// One payment, then the token for an hour.
app.get('/resource/:resourceId', { preHandler: app.requireAccess() }, async (request) => ({
  resource: request.params.resourceId,
  wallet: request.svcAccess.walletAddress,
}))

app.addHook('onClose', () => gateway.close())
await app.listen({ port })
console.log(`Fastify sells at http://localhost:${port}`)
process.once('SIGTERM', () => app.close())
