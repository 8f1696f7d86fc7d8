import { z } from 'zod'
import { UnavailableError } from '../errors.ts'
import type { Alerts, Delivery, Order } from '../ports.ts'
import { buildGrant, type Credential, type GrantPlaces, planOnlyFault } from './grant.ts'
import type { Seal } from './seal.ts'

export interface SealedDeliveryConfig {
  seal: Seal
  places: GrantPlaces
  alerts: Alerts
}

/** `reason` is stored and may reach the buyer; `detail` is for the operator only. */
export type Issued =
  | { kind: 'issued'; credential: Credential }
  | { kind: 'failed'; reason: string; detail?: string }

const MAX_TOKEN_CHARACTERS = 65_536

const isoTime = z.preprocess(
  (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value),
  z
    .string()
    .refine((text) => /^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(Date.parse(text)))
    .transform((text) => new Date(text).toISOString()),
)

const httpUrl = z.string().refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))

const AnswerSchema = z.object({
  accessToken: z.string().min(1).max(MAX_TOKEN_CHARACTERS).nullish(),
  token: z.string().min(1).max(MAX_TOKEN_CHARACTERS).nullish(),
  expiresAt: isoTime.nullish(),
  resourceEndpoint: httpUrl.nullish(),
})

const EXPECTED: Record<string, string> = {
  accessToken: 'a text of 1 to 65536 characters',
  token: 'a text of 1 to 65536 characters',
  expiresAt: 'an ISO 8601 time such as "2030-01-31T12:00:00Z"',
  resourceEndpoint: 'an http or https URL',
}

/** Reads the answer of the seller's function or token API. Other members, such as `tokenType`, are ignored. */
export function readCredential(answer: unknown, who: string): Issued {
  const parsed = AnswerSchema.safeParse(typeof answer === 'string' ? { accessToken: answer } : answer)
  if (!parsed.success) {
    const member = String(parsed.error.issues[0]?.path[0] ?? '')
    const fault = EXPECTED[member] ? `${member} is not ${EXPECTED[member]}` : 'it is no credential object'
    return { kind: 'failed', reason: `${who} gave an unusable answer: ${fault}` }
  }
  const { accessToken, token, expiresAt, resourceEndpoint } = parsed.data
  const text = accessToken ?? token
  if (!text)
    return { kind: 'failed', reason: `${who} gave an unusable answer: it has neither accessToken nor token` }
  return {
    kind: 'issued',
    credential: {
      accessToken: text,
      ...(expiresAt && { expiresAt }),
      ...(resourceEndpoint && { resourceEndpoint }),
    },
  }
}

/** Delivers a credential that the seller issues. It is stored encrypted, because it cannot be issued again here. */
export function createSealedDelivery(
  issue: (order: Order) => Promise<Issued>,
  { seal, places, alerts }: SealedDeliveryConfig,
): Delivery {
  async function issuePlan(order: Order): Promise<Issued> {
    const fault = planOnlyFault(order)
    const issued: Issued = fault ? { kind: 'failed', reason: fault } : await issue(order)
    // The engine reports `reason` to the operator; `detail`, which the buyer must not see, is reported here.
    if (issued.kind === 'failed' && issued.detail) {
      alerts.raise('delivery-failed', `challenge ${order.challengeId}: ${issued.detail}`)
    }
    return issued
  }

  return {
    instant: false,

    async deliver(order) {
      const issued = await issuePlan(order)
      if (issued.kind === 'failed') return { kind: 'failed', reason: issued.reason }
      const { credential } = issued
      const sealed = seal.seal(credential, order.challengeId)
      return { kind: 'delivered', sealed, expiresAt: expiryOf(credential) }
    },

    async open(order, sealed) {
      const kept = readCredential(seal.open(sealed, order.challengeId), 'the sealed result')
      if (kept.kind === 'issued') return buildGrant(order, kept.credential, places)
      // The key is lost, or the seller switched to this step. The idempotency key makes this the same sale, not a second one.
      const issued = await issuePlan(order)
      if (issued.kind === 'failed') {
        throw new UnavailableError(
          `the credential of challenge ${order.challengeId}`,
          new Error(issued.reason),
        )
      }
      return buildGrant(order, issued.credential, places)
    },

    expiryOf(order, sealed) {
      const kept = readCredential(seal.open(sealed, order.challengeId), 'the sealed result')
      return kept.kind === 'issued' ? expiryOf(kept.credential) : undefined
    },
  }
}

const expiryOf = ({ expiresAt }: Credential): number | null =>
  expiresAt === undefined ? null : Date.parse(expiresAt)
