import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FAILING_CITY, METERED_MICRO } from './catalog.ts'

/** What the backend does with the next calls. */
export type Mood = 'well' | 'fails' | 'hangs' | 'cuts' | 'slow'

/** The seller's API: answers each call with words of its own, and remembers what it charged. */
export interface Backend {
  url: string
  mood: Mood
  calls: number
  /** Each charge that it named for a metered call, by the call's challenge. */
  charges: Map<string, bigint[]>
  stop(): Promise<void>
}

const SLOW_MS = 1_200

export async function startBackend(): Promise<Backend> {
  const charges = new Map<string, bigint[]>()
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const { url = '', headers } = request
    backend.calls++
    const { mood } = backend
    if (mood === 'hangs') return
    if (mood === 'cuts') return void response.destroy()
    if (mood === 'fails' || url.includes(FAILING_CITY))
      return void response.writeHead(500).end('out of order')
    const answer = () => serve(response, url, String(headers['x-svc-challenge-id']))
    if (mood === 'slow') setTimeout(answer, SLOW_MS)
    else answer()
  })

  function serve(response: ServerResponse, url: string, challengeId: string): void {
    const metered = url.startsWith('/chat/')
    // Every call has another price, now and then nothing.
    const charge = backend.calls % 17 === 0 ? 0n : (BigInt(backend.calls) * 7_919n) % (METERED_MICRO + 1n)
    if (metered) charges.set(challengeId, [...(charges.get(challengeId) ?? []), charge])
    response
      .writeHead(200, {
        'content-type': 'application/json',
        ...(metered && { 'settlement-overrides': JSON.stringify({ amount: String(charge) }) }),
      })
      .end(JSON.stringify({ url, workedFor: challengeId, call: backend.calls }))
  }

  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const backend: Backend = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mood: 'well',
    calls: 0,
    charges,
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
  return backend
}
