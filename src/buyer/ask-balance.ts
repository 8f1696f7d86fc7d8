import { z } from 'zod'
import { errorBodyOf } from './answers.ts'
import { BuyerError } from './buyer-error.ts'
import { ANSWER_TIMEOUT_MS, readDocument } from './capped-body.ts'
import type { CreditAccount, OwnedToken } from './owned-credits.ts'

const when = z.union([z.number(), z.string()]).transform((at) => new Date(at))
const BalanceSchema = z.object({
  planId: z.string(),
  resourceId: z.string(),
  granted: z.number(),
  spent: z.number(),
  reserved: z.number(),
  remaining: z.number(),
  expiresAt: when.nullable(),
  lots: z
    .array(
      z.object({
        challengeId: z.string(),
        granted: z.number(),
        spent: z.number(),
        remaining: z.number(),
        expiresAt: when,
      }),
    )
    .default([]),
})

/** What is left of the credits of one plan. */
export interface CreditBalance {
  planId: string
  resourceId: string
  granted: number
  spent: number
  /** Of calls that are under way. */
  reserved: number
  remaining: number
  /** When the last of them end; null: there are none. */
  expiresAt: Date | null
  /** Each purchase, in the order in which they are spent. */
  lots: Array<{ challengeId: string; granted: number; spent: number; remaining: number; expiresAt: Date }>
}

/** Undefined: the gateway no longer takes the token. */
export async function askBalance(
  fetchOnce: typeof fetch,
  { base }: Pick<CreditAccount, 'base'>,
  { token }: OwnedToken,
): Promise<CreditBalance | undefined> {
  const url = `${base}/x402/credits`
  const response = await fetchOnce(url, {
    headers: { authorization: `Bearer ${token}` },
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  })
  const body = errorBodyOf((await readDocument(response)) ?? '')
  if (response.status === 401) return undefined
  const balance = BalanceSchema.safeParse(body)
  if (response.ok && balance.success) return balance.data
  const said = typeof body.message === 'string' ? `: ${body.message}` : ''
  throw new BuyerError(
    'UNEXPECTED_ANSWER',
    `GET ${url} answered HTTP ${response.status} and no balance${said}`,
  )
}
