import express from 'express'
import { createOfficialFacilitator } from './official-facilitator.ts'

const { PORT, RPC_URL, PRIVATE_KEY } = process.env
const facilitator = createOfficialFacilitator(RPC_URL!, PRIVATE_KEY as `0x${string}`, false)

const app = express()
app.use(express.json())
app.get('/supported', (_request, response) => void response.json(facilitator.getSupported()))
app.post('/verify', async ({ body }, response) => {
  response.json(await facilitator.verify(body.paymentPayload, body.paymentRequirements))
})
app.post('/settle', async ({ body }, response) => {
  response.json(await facilitator.settle(body.paymentPayload, body.paymentRequirements))
})
app.listen(Number(PORT), '127.0.0.1')
