import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { serveHttp } from '../../src/server/serve-http.ts'
import type { App, Seller } from './frameworks-seller.ts'

/** The same seller without any code of ours: the standalone gateway calls this backend once a call is paid. */
async function startBackend(seller: Seller): Promise<{ url: string; server: Server }> {
  const app = express().use(express.json())
  const enter = (routeId: string, req: express.Request) => {
    const told = (name: string) => req.get(`x-svc-${name}`) ?? ''
    seller.enter(routeId, {
      routeId: told('route-id'),
      challengeId: told('challenge-id'),
      requestId: told('request-id'),
      txHash: told('tx-hash'),
      payer: told('payer'),
      amount: told('amount'),
      network: told('network'),
      explorerUrl: '',
    })
  }
  app.get('/sell/weather/:city', (req, res) => {
    enter('weather', req)
    res.json({ city: req.params.city, query: req.query })
  })
  app.post('/sell/echo', (req, res) => {
    enter('echo', req)
    res.status(201).json({ got: req.body })
  })
  app.get('/sell/moody', (req, res) => {
    enter('moody', req)
    const { status, body } = seller.answer()
    res.status(status).json(body)
  })
  app.get('/sell/slow', async (req, res) => {
    enter('slow', req)
    await seller.gate.promise
    const { status, body } = seller.answer()
    res.status(status).json(body)
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

export const STANDALONE: App = {
  name: 'the standalone server',
  embedded: false,
  async prepare(seller) {
    const { url, server } = await startBackend(seller)
    return {
      options: { proxyTo: { baseUrl: url } },
      async start({ gateway, port }) {
        const { close } = await serveHttp({ handler: gateway.fetch, port, host: '127.0.0.1' })
        return {
          async close() {
            await close()
            server.close().closeAllConnections()
          },
        }
      },
    }
  },
}
