import { z } from 'zod'

/** The claims of a built-in JWT. All are required: a token without `exp` or `aud` is not one of ours. */
export const AccessClaimsSchema = z.object({
  /** The gateway's base URL. */
  iss: z.string(),
  /** The payer, in lower case; `walletAddress` has the same value under a clearer name. */
  sub: z.string(),
  walletAddress: z.string(),
  /** The resource endpoint. */
  aud: z.string(),
  /** The challengeId: one purchase, one id. */
  jti: z.string(),
  planId: z.string(),
  resourceId: z.string(),
  txHash: z.string(),
  iat: z.number().int(),
  exp: z.number().int(),
})
/** The claims of an access token that this gateway sold. */
export type AccessClaims = z.infer<typeof AccessClaimsSchema>
