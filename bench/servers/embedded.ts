import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import express from 'express'
import type * as Adapter from '../../src/frameworks/express.ts'
import type * as Package from '../../src/index.ts'

/** A seller's own Express app with `payPerRequest` on one route, from the built package. */
const { ROOT, PORT, RPC_URL, PRIVATE_KEY, PAY_TO, PRICE, DATA_DIR, BASE_URL, BODY_BYTES } = process.env
const load = async <T>(file: string): Promise<T> => import(pathToFileURL(join(ROOT!, 'dist', file)).href)
const { createGateway } = await load<typeof Package>('index.js')
const { payPerRequest } = await load<typeof Adapter>('frameworks/express.js')

const gateway = await createGateway({
  walletAddress: PAY_TO!,
  network: 'testnet',
  rpcUrl: RPC_URL!,
  gasWalletPrivateKey: PRIVATE_KEY!,
  store: { dataDir: DATA_DIR! },
  baseUrl: BASE_URL!,
  pollIntervalMs: 20,
  rateLimitPerMinute: 0,
  routes: [{ routeId: 'paid', method: 'GET', path: '/paid', unitAmount: PRICE! }],
})
const data = { data: 'x'.repeat(Number(BODY_BYTES)) }
const app = express()
app.get('/', (_request, response) => void response.json({ ok: true }))
app.get('/bare', (_request, response) => void response.json(data))
app.get('/paid', payPerRequest(gateway, 'paid'), (_request, response) => void response.json(data))
const server = app.listen(Number(PORT), '127.0.0.1')
process.once('SIGTERM', () => server.close(() => void gateway.close().then(() => process.exit(0))))
