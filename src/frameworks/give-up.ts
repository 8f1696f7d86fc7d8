import type { CapturedAnswer, MeteredCharge } from '../transports/http/charged.ts'
import type { Paid } from './embedding.ts'

/** What a metered call has come to whose handler gave no answer. */
export const NO_ANSWER: CapturedAnswer = { status: 500, headers: {}, body: null }

/**
 * Ends a call whose answer nobody can get any more, before its handler runs: while it was charged, something in front has answered, such as
 * a time limit.
 */
export async function giveUp(charged: Paid | MeteredCharge): Promise<void> {
  if (charged.kind === 'metered') void charged.finish(NO_ANSWER)
  else await charged.finish(500)
}
