import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { CreditBalance, Spender } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { WITHOUT_PAYMENT } from './admit.ts'
import { spokenOf } from './decode-call.ts'
import type { Credits, Endpoint, EndpointContext } from './endpoint.ts'
import { PAID_HEADERS } from './headers.ts'
import { idInQuery } from './id-in-query.ts'
import { headerOf } from './native-request.ts'
import type { Spending } from './read-spender.ts'
import { jsonReply } from './reply.ts'
import { requestTarget } from './request-target.ts'

/** What the query names. A token names both itself. */
interface Asked {
  planId?: string
  resourceId?: string
}

/** An account as its holder is told it; times are ISO 8601. */
const shown = (balance: CreditBalance) => ({
  ...balance,
  expiresAt: balance.expiresAt === null ? null : isoOf(balance.expiresAt),
  lots: balance.lots.map((lot) => ({ ...lot, expiresAt: isoOf(lot.expiresAt) })),
})

const isoOf = (at: number): string => new Date(at).toISOString()

/** `GET /x402/credits`: what the token's account has, or those of a wallet that signs in. */
export function createBalanceEndpoint(
  { admit, catchFaults, render, signIn, basePath }: EndpointContext,
  { readSpender, balance, planIds }: Credits,
): Endpoint {
  const path = `${basePath}/x402/credits`

  async function answerTo(spender: Spending, asked: Asked): Promise<object | GatewayError> {
    const { planId, resourceId } = spender
    if (planId !== undefined) {
      const fault = otherThanToken({ planId, resourceId }, asked)
      if (fault) return fault
      return shownOrError(await balance({ ...spender, planId }))
    }
    const of = (id: string): Promise<CreditBalance | GatewayError> =>
      balance({ ...spender, planId: id } satisfies Spender)
    if (asked.planId !== undefined) {
      if (planIds.includes(asked.planId)) return shownOrError(await of(asked.planId))
      const message = `No plan with credits has the id ${JSON.stringify(asked.planId)}; there are ${planIds.join(', ')}.`
      return new GatewayError('TIER_NOT_FOUND', message)
    }
    const accounts: CreditBalance[] = []
    for (const found of await Promise.all(planIds.map(of))) {
      if (found instanceof GatewayError) return found
      if (found.lots.length > 0) accounts.push(found)
    }
    return accounts.length === 1 ? shown(accounts[0]!) : { accounts: accounts.map(shown) }
  }

  return (request, peer) => {
    const spoken = spokenOf(request)
    const admitted = admit(peer, WITHOUT_PAYMENT, { spoken })
    if ('status' in admitted) return admitted
    const refuse = (error: GatewayError) =>
      render.failure(error, {
        spoken,
        ...(error.httpStatus === 401 && {
          headers: { 'www-authenticate': 'Bearer' },
          ...(signIn && { more: { extensions: signIn.offer(path) } }),
        }),
      })
    return catchFaults(
      async () => {
        const asked = askedIn(requestTarget(request))
        if (asked instanceof GatewayError) return refuse(asked)
        const head = {
          authorization: headerOf(request, 'authorization'),
          proof: headerOf(request, SIGN_IN_WITH_X),
          resourceId: asked.resourceId,
        }
        const spender = await readSpender(head, path)
        if (!spender) return refuse(noSpender())
        if (spender instanceof GatewayError) return refuse(spender)
        const answer = await answerTo(spender, asked)
        return answer instanceof GatewayError ? refuse(answer) : jsonReply(200, PAID_HEADERS, answer)
      },
      { spoken },
    )
  }
}

const shownOrError = (found: CreditBalance | GatewayError) =>
  found instanceof GatewayError ? found : shown(found)

function askedIn(target: string): Asked | GatewayError {
  const query = new URLSearchParams(target.split('?')[1] ?? '')
  const asked: Asked = {}
  for (const name of ['planId', 'resourceId'] as const) {
    const id = idInQuery(query, name)
    if (id instanceof GatewayError) return id
    if (id !== undefined) asked[name] = id
  }
  return asked
}

function otherThanToken(
  token: { planId: string; resourceId: string },
  asked: Asked,
): GatewayError | undefined {
  for (const name of ['planId', 'resourceId'] as const) {
    if (asked[name] === undefined || asked[name] === token[name]) continue
    const message = `The token is of ${name} ${token[name]}, not ${asked[name]}; leave ${name} out.`
    return new GatewayError('INVALID_REQUEST', message)
  }
  return undefined
}

function noSpender(): GatewayError {
  const message =
    'Send the token of a plan as Authorization: Bearer, or sign in with the wallet that bought it.'
  return new GatewayError('UNAUTHORIZED', message)
}
