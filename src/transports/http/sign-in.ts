import type { Siwx } from '../../dialects/siwx/create-siwx.ts'
import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { Engine, Granted, Intent, OwnedAccess, Wallet } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

/** Fetching again what a wallet owns, for every way in. */
export interface SignIn {
  /**
   * What the wallet that signed this proof owns; undefined: nothing of this kind. A proof that is not good is refused. Who
   * is `buying` is not given a plan whose credits are spent.
   */
  fetchAgain(
    proof: unknown,
    path: string,
    access: OwnedAccess,
    buying?: boolean,
  ): Promise<Granted | GatewayError | undefined>
  /** Whose wallet signed this proof, for this path. A proof that is not good is refused. */
  wallet(proof: unknown, path: string): Promise<Wallet | GatewayError>
  /** `extensions` of an answer that says how to sign in at this path, on one of these networks; by default on any. */
  offer(path: string, networks?: readonly string[]): Record<string, unknown>
}

export function createSignIn(engine: Pick<Engine, 'signIn' | 'owned'>, siwx: Siwx): SignIn {
  async function wallet(proof: unknown, path: string): Promise<Wallet | GatewayError> {
    const read = siwx.read(proof, path)
    return read instanceof GatewayError ? read : engine.signIn(read)
  }
  return {
    wallet,
    async fetchAgain(proof, path, access, buying) {
      const signed = await wallet(proof, path)
      return signed instanceof GatewayError ? signed : engine.owned(signed, access, buying)
    },
    offer: (path, networks) => ({ [SIGN_IN_WITH_X]: siwx.offer(path, networks) }),
  }
}

/**
 * Answers `POST /x402/access` of a wallet that signs in: the grant of its purchase, or what is wrong with the proof.
 * undefined: it owns nothing of this kind, or nothing that can be owned is asked for, and so it may buy.
 */
export function createAccessAgain(
  signIn: SignIn,
  render: OutcomeRenderer,
  path: string,
): (proof: string, intent: Intent) => Promise<Reply | undefined> {
  return async (proof, { planId, resourceId }) => {
    if (planId === undefined) return undefined
    const found = await signIn.fetchAgain(proof, path, { planId, resourceId }, true)
    if (!(found instanceof GatewayError)) return found && render.outcome(found)
    return render.failure(found, {
      headers: { 'www-authenticate': SIGN_IN_WITH_X },
      more: { extensions: signIn.offer(path) },
    })
  }
}
