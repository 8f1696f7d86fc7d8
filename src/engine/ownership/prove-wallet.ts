import { GatewayError } from '../../errors.ts'
import type { MarkRow } from '../../ports.ts'
import { MINUTE_MS } from '../../protocol/duration.ts'
import { createMinuteCount } from '../budgets/minute-count.ts'
import { type Core, commit } from '../core.ts'
import type { Wallet, WalletProof } from '../outcome.ts'

/** Clocks of several instances may differ by less than this: so long a used proof is remembered beyond its end. */
const MARGIN_MS = 10 * MINUTE_MS

/**
 * Makes the function that says whose wallet signed a proof. Each proof is good once, on all instances together: the
 * insert of its mark decides. The proof is used up even if its wallet owns nothing, because it may buy something in
 * the next minutes, and whoever found the proof in a log must not fetch that.
 */
export function createWalletProofs(core: Core): (proof: WalletProof) => Promise<Wallet | GatewayError> {
  const questions = createMinuteCount(core.clock)
  const most = core.config.payerFailuresPerMinute || Number.POSITIVE_INFINITY

  return async ({ account, network, text, signature, nonce, endsAt }) => {
    const rail = core.rails.all.find((candidate) => candidate.network.id === network)
    if (!rail) return refuse(`${network} is not a network of this gateway`)
    let asked: 'no' | 'yes' | 'too-often' = 'no'
    const mayAskCode = () => {
      asked = questions.of(account) < most ? 'yes' : 'too-often'
      if (asked === 'yes') questions.add(account)
      return asked === 'yes'
    }
    const signed = await rail.hasSigned(account, text, signature, mayAskCode)
    if (isTooOften(asked)) {
      const message = `Too many sign-ins of ${account} that its key did not sign.`
      return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds: questions.secondsLeft(account) })
    }
    if (!signed) return refuse(`the signature is not of ${account}; sign exactly the EIP-4361 text`)
    const mark: MarkRow = {
      key: `sign-in/${account}/${nonce}`,
      version: 0,
      ref: null,
      dueAt: endsAt + MARGIN_MS,
      value: core.clock.now(),
    }
    if (!(await commit(core, { puts: [{ table: 'marks', row: mark }] }))) {
      return refuse('this proof was used before; sign again with a new nonce')
    }
    // Where code agreed, the address is this wallet on that chain alone: elsewhere its code may be another's.
    return { account, network: asked === 'no' ? null : network }
  }
}

// A function, because the compiler takes a variable that a callback assigns for unchanged.
const isTooOften = (asked: string): boolean => asked === 'too-often'

function refuse(why: string): GatewayError {
  return new GatewayError('UNAUTHORIZED', `The sign-in is refused: ${why}.`, {
    hint: 'ask for a new sign-in-with-x offer, sign it with the wallet that paid, and send it once',
  })
}
