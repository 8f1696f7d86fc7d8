import { z } from 'zod'
import type { AccessGrant } from '../protocol/access.ts'
import { decodeJsonObject, encodeJson } from '../protocol/base64.ts'
import { signInText } from '../protocol/sign-in-text.ts'
import { ANSWER_TIMEOUT_MS, readDocument } from './capped-body.ts'
import { grantOf } from './grant.ts'
import type { CreditPlace } from './owned-credits.ts'
import type { BuyerAccount } from './sign-payment.ts'

const Offered = z.object({
  info: z.object({
    domain: z.string(),
    uri: z.string(),
    version: z.literal('1'),
    nonce: z.string().regex(/^[A-Za-z0-9]{8,128}$/),
    issuedAt: z.iso.datetime(),
  }),
  supportedChains: z
    .array(z.object({ chainId: z.string().regex(/^eip155:\d+$/), type: z.literal('eip191') }))
    .min(1),
})

/**
 * The grant of a plan that this wallet bought before and that still runs: the wallet signs a short text instead of
 * paying. Undefined if there is none, or this account or gateway cannot do it.
 */
export async function signInAgain(
  { account, fetch: fetchOnce }: { account: BuyerAccount; fetch: typeof fetch },
  { base, planId, resourceId }: CreditPlace,
): Promise<AccessGrant | undefined> {
  if (!account.signMessage) return undefined
  const url = `${base}/x402/access`
  const ask = (headers: Record<string, string>) =>
    fetchOnce(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ planId, resourceId }),
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
  const terms = await ask({})
  await terms.body?.cancel()
  const { extensions } = (decodeJsonObject(terms.headers.get('payment-required') ?? '') ?? {}) as {
    extensions?: Record<string, unknown>
  }
  const offered = Offered.safeParse(extensions?.['sign-in-with-x'])
  if (!offered.success) return undefined
  const { info, supportedChains } = offered.data
  // A text for another place would let this gateway sign in there as this wallet.
  if (info.domain !== new URL(url).host || info.uri !== url) return undefined
  const fields = { ...info, ...supportedChains[0]!, address: account.address }
  const signature = await account.signMessage({ message: signInText(fields) })
  const answer = await ask({ 'sign-in-with-x': encodeJson({ ...fields, signature }) })
  const text = await readDocument(answer)
  return answer.status === 200 && text !== undefined ? grantOf(text) : undefined
}
