import type { DevAccount } from '../../src/testing/index.ts'
import { type Answer, type Bought, buyPlan, type Shop, sendUntilDecided } from './buyer.ts'
import { FAILING_CALL } from './outside.ts'

/** What the calls below cost together: the one that the backend fails costs nothing. */
export const SPENT = 2

/** Buys a plan with credits and spends some; the result is what its calls were answered and what is spent then. */
export async function buyAndSpend(shop: Shop, buyer: DevAccount, requestId: string): Promise<Bought> {
  const bought = await buyPlan(shop, buyer, requestId)
  return {
    ...(await spend(shop, requestId, bought)),
    again: async () => spend(shop, requestId, await bought.again()),
    robbed: bought.robbed,
  }
}

interface Resource {
  status: number
  body: unknown
}

type Outcome = Omit<Bought, 'again' | 'robbed'>

async function spend(shop: Shop, requestId: string, bought: Outcome): Promise<Outcome> {
  if (!bought.delivered) return bought
  const authorization = `Bearer ${bought.result}`
  const call = (path: string) =>
    sendUntilDecided(shop, path, {
      headers: { authorization, 'idempotency-key': `${requestId}${path.replaceAll('/', '.')}` },
    })
  const first = await call('/weather/first')
  const failed = await call(FAILING_CALL)
  const second = await call('/weather/second')
  const balance = await sendUntilDecided(shop, '/x402/credits', { headers: { authorization } })
  const [one, none, other] = [first, failed, second].map(({ body }) => body.resource as Resource)
  const fits = one?.status === 200 && other?.status === 200 && none?.status === 500
  return {
    challengeId: bought.challengeId,
    delivered: fits,
    result: JSON.stringify({ answers: [one, other], spent: balance.body.spent }),
    said: [first, failed, second, balance].map(told).join('; '),
  }
}

const told = ({ status, body }: Answer) => `${status} ${JSON.stringify(body).slice(0, 200)}`
