import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import type { World } from './world.ts'

/** The seller's answer: as it is, or out of the standalone gateway's wrapping. */
export async function sellersAnswer(response: Response): Promise<{ status: number; body: unknown }> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  const body = isJson
    ? (JSON.parse(text) as { type?: string; resource?: { status: number; body: unknown } })
    : text
  if (typeof body === 'object' && body.type === 'ResourceResponse') return body.resource!
  return { status: response.status, body }
}

/** A buyer of single calls that follows the specification to the letter, step by step. */
export function callsAt(world: World, origin: string) {
  async function terms(path: string, init: RequestInit = {}): Promise<PaymentRequired> {
    const response = await fetch(origin + path, init)
    if (response.status !== 402)
      throw new Error(`expected 402, got ${response.status}: ${await response.text()}`)
    return decodeJsonObject(response.headers.get('payment-required') ?? '') as unknown as PaymentRequired
  }

  function pay(path: string, header: string, init: RequestInit = {}): Promise<Response> {
    return fetch(origin + path, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), 'payment-signature': header },
    })
  }

  return {
    terms,
    pay,
    /** Terms and a signature for them, not sent yet. */
    async prepare(buyer: DevAccount, path: string, init: RequestInit = {}) {
      const required = await terms(path, init)
      const header = await world.sign(buyer, required.accepts[0]!)
      return {
        challengeId: required.challengeId,
        header,
        send: (more: RequestInit = {}) => pay(path, header, { ...init, ...more }),
      }
    },
    /** The unmodified official client. */
    official(buyer: DevAccount): (path: string, init?: RequestInit) => Promise<Response> {
      const client = new x402Client()
      client.register('eip155:*', new ExactEvmScheme(buyer.account))
      const payingFetch = wrapFetchWithPayment(fetch, client)
      return (path, init) => payingFetch(origin + path, init)
    },
  }
}
