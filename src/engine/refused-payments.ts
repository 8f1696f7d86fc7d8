import type { GatewayError } from '../errors.ts'
import type { ChallengeRow, RefusedPayment } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { putChallenge } from './apply-event.ts'
import { type Core, commit } from './core.ts'

/** Of one challenge; the oldest go first. */
const MAX_KEPT = 20
const MAX_WORDS = 300

interface Refused {
  key: string
  payer: Address
  error: GatewayError
}

/**
 * The challenge with a payment that was refused before anything was sent. A2A promises the whole history of a task's
 * payments; the other transports show none.
 */
export function withRefused(challenge: ChallengeRow, { key, payer, error }: Refused): ChallengeRow {
  if (challenge.transport !== 'a2a') return challenge
  const entry: RefusedPayment = { key, payer, code: error.code, said: error.message.slice(0, MAX_WORDS) }
  const others = (challenge.refused ?? []).filter((one) => one.key !== key)
  return { ...challenge, refused: [...others, entry].slice(-MAX_KEPT) }
}

/**
 * Stores it, if nobody else is at work on the challenge: history must not stand in the way of a payment, nor change what
 * this one is told.
 */
export async function noteRefused(core: Core, challenge: ChallengeRow, refused: Refused): Promise<void> {
  const { transport, version, state, liveAuth } = challenge
  if (transport !== 'a2a' || version === 0 || state !== 'PENDING' || liveAuth !== null) return
  const step = { puts: [putChallenge(withRefused(challenge, refused))], soft: true }
  await commit(core, step).catch(() => false)
}
