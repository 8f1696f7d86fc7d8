import { randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { type DevAccount, signAuthorization, usdcAbi } from '../../src/testing/index.ts'
import type { Site } from './site.ts'
import type { SupervisedGateway } from './supervised-gateway.ts'

/** Long enough for every lease to lapse; the gateway asks no more of a signature. */
const VALID_SECONDS = 800

/** How an honest buyer's purchase ended. */
export interface Bought {
  challengeId: string
  delivered: boolean
  /** The token, or the backend's answer: the same in every answer. */
  result: string
  /** Everything of the last answer, for a report. */
  said: string
  /** Sends the very same payment once more. */
  again(): Promise<Omit<Bought, 'again' | 'robbed'>>
  /** The answer to a request that has only data from the chain. */
  robbed(): Promise<boolean>
}

export interface Shop {
  site: Site
  gateway: SupervisedGateway
  /** Of all that was asked for. */
  challengeIds: Set<string>
  /** Ends whatever still waits. */
  signal: AbortSignal
}

export interface Answer {
  status: number
  body: Record<string, unknown>
}

const pause = (ms: number) => new Promise((turn) => setTimeout(turn, ms))

/** Undefined: the connection broke, so nothing is known. */
async function sendOnce(
  { gateway, signal }: Shop,
  path: string,
  init: RequestInit,
): Promise<Answer | undefined> {
  signal.throwIfAborted()
  const answer = await fetch(gateway.baseUrl + path, { ...init, signal })
    .then(async (response) => ({ status: response.status, body: await readJson(response) }))
    .catch(() => undefined)
  // Not awaited: whatever becomes of the gateway now, the buyer has the answer.
  if (answer) void gateway.trigger.reach({ kind: 'answer', status: answer.status }, 'after')
  return answer
}

/** The very same request again until there is an answer. */
async function send(shop: Shop, path: string, init: RequestInit): Promise<Answer> {
  for (;;) {
    const answer = await sendOnce(shop, path, init)
    if (answer) return answer
    await pause(15)
  }
}

async function readJson(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text()
  return text === '' ? {} : JSON.parse(text)
}

/** Sends the same again after a while, as the 503 asks; the harness decides how long that is. */
export async function sendUntilDecided(shop: Shop, path: string, init: RequestInit): Promise<Answer> {
  for (;;) {
    const answer = await send(shop, path, init)
    if (answer.status !== 503) return answer
    await pause(15)
  }
}

type Accepted = PaymentRequired['accepts'][number]

/** Makes the scheme's own part of a payment. */
export type Sign = (shop: Shop, buyer: DevAccount, accepted: Accepted) => Promise<object>

export const validUntil = ({ site }: Shop): number => Math.floor(site.now() / 1000) + VALID_SECONDS

const signExact: Sign = (shop, { account }, requirements) =>
  signAuthorization({ account, requirements, overrides: { validBefore: String(validUntil(shop)) } })

/** Buys by `payment-signature`: a plan by POST /x402/access, or a call of a route. */
async function buyByHeader(
  shop: Shop,
  buyer: DevAccount,
  path: string,
  init: RequestInit,
  resultOf: (body: Record<string, unknown>) => string | undefined,
  sendPayment: typeof sendOnce = sendUntilDecided,
  sign: Sign = signExact,
): Promise<Bought> {
  const asked = await sendUntilDecided(shop, path, init)
  if (asked.status !== 402) throw new Error(`asked for terms, got ${told(asked)}`)
  const required = asked.body as unknown as PaymentRequired
  shop.challengeIds.add(required.challengeId)
  const accepted = required.accepts[0]!
  const payload = await sign(shop, buyer, accepted)
  const pay = (as: typeof accepted, how: typeof sendOnce = sendUntilDecided) => {
    const header = encodeJson({ x402Version: 2, accepted: as, payload })
    return how(shop, path, { ...init, headers: { ...init.headers, 'payment-signature': header } })
  }
  const outcome = async (how?: typeof sendOnce) => {
    const answer = (await pay(accepted, how)) ?? { status: 0, body: {} }
    const result = answer.status === 200 ? resultOf(answer.body) : undefined
    const { challengeId } = required
    return { challengeId, delivered: result !== undefined, result: result ?? '', said: told(answer) }
  }
  return {
    ...(await outcome(sendPayment)),
    again: () => outcome(),
    async robbed() {
      const { salt: _, ...extra } = accepted.extra
      return (await pay({ ...accepted, extra: extra as typeof accepted.extra }))?.status === 200
    },
  }
}

const told = ({ status, body }: Answer) => `${status} ${JSON.stringify(body).slice(0, 400)}`

export function buyPlan(
  shop: Shop,
  buyer: DevAccount,
  requestId: string,
  sendPayment?: typeof sendOnce,
): Promise<Bought> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ planId: 'basic', requestId }),
  }
  const tokenOf = ({ accessToken }: Record<string, unknown>) =>
    typeof accessToken === 'string' ? accessToken : undefined
  return buyByHeader(shop, buyer, '/x402/access', init, tokenOf, sendPayment)
}

/** Pays once and does not come back before everything is over: what was paid must be delivered without its help. */
export const buyAndVanish = (shop: Shop, buyer: DevAccount, requestId: string) =>
  buyPlan(shop, buyer, requestId, sendOnce)

export function buyCall(shop: Shop, buyer: DevAccount, requestId: string, sign?: Sign): Promise<Bought> {
  const answerOf = ({ resource }: Record<string, unknown>) => {
    const { status, body } = resource as { status: number; body: unknown }
    return status === 200 ? JSON.stringify(body) : undefined
  }
  return buyByHeader(shop, buyer, `/weather/${requestId}`, {}, answerOf, undefined, sign)
}

interface Task {
  id: string
  status: { state: string }
  artifacts?: Array<{ parts: Array<{ data?: { accessToken?: string } }> }>
}

/** Asks over A2A, pays by a plain transfer of its own, and proves it. */
export async function buyByTransfer(shop: Shop, buyer: DevAccount, requestId: string): Promise<Bought> {
  const { chain } = shop.site
  await chain.fundEth(buyer.address, 10n ** 18n)
  const message = async (data: object) => {
    const answer = await send(shop, '/a2a', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'X-A2A-Extensions': 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: {
          message: {
            kind: 'message',
            role: 'user',
            messageId: randomUUID(),
            parts: [{ kind: 'data', data }],
          },
        },
      }),
    })
    return { answer, task: answer.body.result as Task | undefined }
  }
  const asked = await message({ type: 'AccessRequest', planId: 'basic', requestId })
  const challengeId = asked.task?.id
  if (challengeId === undefined) throw new Error(`asked for terms, got ${told(asked.answer)}`)
  shop.challengeIds.add(challengeId)
  const required = (asked.task as unknown as { metadata: Record<string, PaymentRequired> }).metadata[
    'x402.payment.required'
  ]!
  const { payTo, amount } = required.accepts[0]!
  const txHash = await chain.client.writeContract({
    account: buyer.account,
    chain: null,
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transfer',
    args: [payTo as Hex, BigInt(amount)],
  })
  const proof = async (signer: DevAccount) => {
    const signature = await signer.account.signMessage({ message: `${challengeId}:${txHash}` })
    for (;;) {
      const sent = await message({ type: 'PaymentProof', challengeId, txHash, signature })
      const token = sent.task?.artifacts?.[0]?.parts[0]?.data?.accessToken
      if (token !== undefined || (sent.task?.status.state ?? 'working') !== 'working') {
        return { challengeId, delivered: token !== undefined, result: token ?? '', said: told(sent.answer) }
      }
      await pause(15)
    }
  }
  return {
    ...(await proof(buyer)),
    again: () => proof(buyer),
    robbed: async () => (await proof(chain.account(7))).delivered,
  }
}
