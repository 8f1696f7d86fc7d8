import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { createOfficialFacilitator } from './official-facilitator.ts'

const { PORT, RPC_URL, PRIVATE_KEY, PAY_TO, PRICE, FACILITATOR_URL, BODY_BYTES } = process.env

/** Without a URL the facilitator runs in this process, tuned: the kindest form. */
function facilitatorClient() {
  if (FACILITATOR_URL) return new HTTPFacilitatorClient({ url: FACILITATOR_URL })
  const facilitator = createOfficialFacilitator(RPC_URL!, PRIVATE_KEY as `0x${string}`, true)
  return {
    verify: facilitator.verify.bind(facilitator),
    settle: facilitator.settle.bind(facilitator),
    getSupported: async () => facilitator.getSupported() as never,
  }
}

const resourceServer = new x402ResourceServer(facilitatorClient()).register(
  'eip155:84532',
  new ExactEvmScheme(),
)
const accepts = { scheme: 'exact', price: PRICE!, network: 'eip155:84532', payTo: PAY_TO! } as const
const data = { data: 'x'.repeat(Number(BODY_BYTES)) }

const app = express()
app.get('/', (_request, response) => void response.json({ ok: true }))
app.use(paymentMiddleware({ 'GET /paid': { accepts, description: 'A paid call' } }, resourceServer))
app.get('/paid', (_request, response) => void response.json(data))
app.listen(Number(PORT), '127.0.0.1')
