import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions'
import type { SignInOffer } from '../../src/dialects/siwx/write-offer.ts'
import type { DevAccount } from '../../src/testing/index.ts'

export const SIGN_IN = 'sign-in-with-x'

/** What `extensions` of an answer offers to sign. */
export const offeredIn = (body: unknown): SignInOffer =>
  (body as { extensions: Record<string, SignInOffer> }).extensions[SIGN_IN]!

/** A proof for this offer, by the official client, as JSON; `change` is made before it is signed. */
export async function signedProof(
  { info, supportedChains }: SignInOffer,
  { account }: Pick<DevAccount, 'account'>,
  change: object = {},
) {
  const complete = { ...info, ...supportedChains[0]!, ...change }
  // The client signs only what the server that it asked says of itself; what is tampered with is signed all the same.
  return createSIWxPayload(complete, account, complete.uri)
}

/** The same as a header. */
export const proofHeader = async (...given: Parameters<typeof signedProof>): Promise<string> =>
  encodeSIWxHeader(await signedProof(...given))
