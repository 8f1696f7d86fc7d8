import type { GatewayError } from '../../errors.ts'
import type { ChallengeRow, RefusedPayment } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { putChallenge } from '../apply-event.ts'
import { type Core, commit } from '../core.ts'

/** Per challenge; the oldest are dropped. */
const MAX_KEPT = 20
const MAX_WORDS = 300

interface Refused {
  key: string
  payer: Address
  error: GatewayError
}

/**
 * The challenge with an entry for a payment that was refused before anything was sent. A2A promises the whole payment
 * history of a task; the other transports show none.
 */
export function withRefused(challenge: ChallengeRow, { key, payer, error }: Refused): ChallengeRow {
  if (challenge.transport !== 'a2a') return challenge
  const entry: RefusedPayment = { key, payer, code: error.code, said: error.message.slice(0, MAX_WORDS) }
  // The same payment may be refused for one reason after the other.
  const others = (challenge.refused ?? []).filter((one) => one.key !== key || one.said !== entry.said)
  return { ...challenge, refused: [...others, entry].slice(-MAX_KEPT) }
}

/**
 * Stores the entry if nothing else is happening to the challenge. Failures are ignored: the history must not block a
 * payment, nor change the answer to this one.
 */
export async function noteRefused(core: Core, challenge: ChallengeRow, refused: Refused): Promise<void> {
  const { transport, version, state, liveAuth } = challenge
  if (transport !== 'a2a' || version === 0 || state !== 'PENDING' || liveAuth !== null) return
  const step = { puts: [putChallenge(withRefused(challenge, refused))], durability: 'deferred' as const }
  await commit(core, step).catch(() => false)
}
