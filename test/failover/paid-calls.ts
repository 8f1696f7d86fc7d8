import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { paymentHeader, signAuthorization } from '../../src/testing/index.ts'
import { type Outside, serve } from '../crash/outside.ts'
import { signatureIsGood } from '../e2e/routes-world.ts'
import { PRICE, type Shop } from './shop.ts'

export const CALL_PATH = '/ping'

/** The seller's API: accepts calls that are signed with one of these secrets, and answers with its name. */
export function startSignedBackend(secrets: Readonly<Record<string, string>>): Promise<Outside> {
  return serve(async ({ method = '', url = '', headers }, _body, response) => {
    const name = Object.keys(secrets).find((one) => signatureIsGood({ method, url, headers }, secrets[one]))
    response
      .writeHead(name === undefined ? 401 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ signedWith: name ?? 'none' }))
  })
}

export interface Calls {
  /** Offers of one wallet that were paid where the other one is configured: refused, uncharged, and asked for again. */
  refused(): number
  /** Which secret signed each call that was answered. */
  signedWith: string[]
  /** Makes no further call; resolves to what is wrong with the money of those that were made. */
  end(): Promise<string[]>
}

/** One buyer who makes one paid call after the other, each with the same payment until it is answered. */
export async function startCalls(shop: Shop): Promise<Calls> {
  const buyer = await shop.chain.newBuyer({ micro: 10_000n * PRICE })
  const signedWith: string[] = []
  let ending = false
  let turn = 0
  let refused = 0

  async function ask(header?: string): Promise<Response | undefined> {
    const { url } = shop.instances[turn++ % shop.instances.length]!
    return fetch(url + CALL_PATH, { headers: header ? { 'payment-signature': header } : {} }).catch(
      () => undefined,
    )
  }

  async function call(): Promise<void> {
    let header: string | undefined
    for (; ; await sleep(100)) {
      const answer = await ask(header)
      const text = await answer?.text().catch(() => undefined)
      if (answer === undefined || text === undefined) continue
      if (answer.status === 200) {
        signedWith.push(JSON.parse(text).resource.body.signedWith)
        return
      }
      if (answer.status >= 500) continue
      if (answer.status === 400 && /authorization\.to is /.test(text)) {
        // An offer of the instance with the other wallet: refused before anything was sent.
        refused++
        header = undefined
        continue
      }
      if (answer.status !== 402 || header !== undefined) throw new Error(`a call: ${answer.status} ${text}`)
      const terms = decodeJsonObject(answer.headers.get('payment-required')!) as unknown as PaymentRequired
      const accepted = terms.accepts[0]!
      const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
      header = paymentHeader({ accepted, ...signed })
    }
  }

  const working = (async () => {
    while (!ending) await call()
  })()
  working.catch(() => {})
  return {
    signedWith,
    refused: () => refused,
    async end() {
      ending = true
      await working
      const spent = 10_000n * PRICE - (await shop.chain.balanceOf(buyer.address))
      return spent === BigInt(signedWith.length) * PRICE
        ? []
        : [`${signedWith.length} calls were answered, and ${spent} was paid for them`]
    },
  }
}
