import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createGateway } from 'paystile'
import { payPerRequest, paystile, paystileAdmin, requireAccess } from 'paystile/hono'

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

const app = new Hono()
app.use(paystile(gateway)) // /discover, /x402/access, …
if (env.ADMIN_TOKEN) app.use('/office/*', paystileAdmin(gateway, { token: env.ADMIN_TOKEN })) // your sales

app.get('/', (c) => c.text('Free, like any other route. Prices: /discover\n'))

// One payment, one call.
app.get('/weather/:city', payPerRequest(gateway, 'weather'), (c) =>
  c.json({ city: c.req.param('city'), sky: 'clear', paidBy: c.get('svcPayment').payer }),
)

app.post('/translate', payPerRequest(gateway, 'translate'), async (c) => {
  const { text } = await c.req.json()
  return c.json({ text: [...text].reverse().join(''), paidBy: c.get('svcPayment').payer })
})

// One payment, then the token for an hour.
app.get('/resource/:resourceId', requireAccess(gateway), (c) =>
  c.json({ resource: c.req.param('resourceId'), wallet: c.get('svcAccess').walletAddress }),
)

const server = serve({ fetch: app.fetch, port }, () => console.log(`Hono sells at http://localhost:${port}`))
process.once('SIGTERM', () => server.close(() => gateway.close()))
