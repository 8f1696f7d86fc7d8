import type { Submitted } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { RpcAnswer, RpcFailure } from './rpc-answer.ts'
import { submittedOf } from './submitted.ts'

export const SEND_AND_WAIT = 'eth_sendRawTransactionSync'

/**
 * A send whose answer comes with the transaction's block (EIP-7966). `mined` is a hint: some nodes answer before the
 * block is sealed. Undefined: the node cannot do this, or it is unknown what it did; the plain call must follow, which
 * does no harm if the transaction is there already. It never rejects.
 */
export interface SendAndWait {
  send(raw: Hex, waitMs: number): Promise<{ is: Submitted } | { is: 'mined'; hash: unknown } | undefined>
  /** Will the node be asked this way, as far as is known? */
  isAsked(): boolean
}

/** The node answers at the latest when its own time is up; one that does not is cut off this much later. */
const GRACE_MS = 1_000
/** A node that gave no answer is not asked this way again for so long. */
const REST_MS = 600_000
const INVALID_PARAMS = -32602
const TIMED_OUT = 4
const NOT_READY = 5

/**
 * The standard's integer for the time came late: earlier nodes want it in another form, or none. The first that is not
 * refused is kept; without it the node's own time counts, and ours.
 */
const FORMS: ReadonlyArray<(raw: Hex, waitMs: number) => unknown[]> = [
  (raw, waitMs) => [raw, waitMs],
  (raw) => [raw],
]

/** The state of one node: `ask` must send the call on its own, so that no other call waits for the block. */
export function createSendAndWait(
  ask: (method: string, params: readonly unknown[], timeoutMs: number) => Promise<RpcAnswer>,
  /** How long an answer of this node may take. */
  limitMs: number,
  now: () => number = Date.now,
): SendAndWait {
  let form = 0
  let lacking = false
  let restsUntilMs = 0

  const isAsked = (): boolean => !lacking && form < FORMS.length && now() >= restsUntilMs

  function rest(): undefined {
    restsUntilMs = now() + REST_MS
  }

  return {
    isAsked,
    async send(raw, wantedMs) {
      const waitMs = Math.ceil(Math.min(wantedMs, limitMs / 2))
      while (isAsked()) {
        const tried = form
        let answer: RpcAnswer
        try {
          answer = await ask(SEND_AND_WAIT, FORMS[tried]!(raw, waitMs), Math.min(limitMs, waitMs + GRACE_MS))
        } catch {
          return rest()
        }
        if (answer.ok) {
          const { blockNumber, transactionHash } = (answer.result ?? {}) as Record<string, unknown>
          if (typeof blockNumber !== 'string') return rest()
          return { is: 'mined', hash: transactionHash }
        }
        if (answer.error.code === TIMED_OUT) return { is: 'accepted' }
        if (isAboutParams(answer.error)) form = Math.max(form, tried + 1)
        else if (isAboutMethod(answer.error)) lacking = true
        else {
          const is = answer.error.code === NOT_READY ? 'unknown' : submittedOf(answer.error.message)
          return is === 'unknown' ? undefined : { is }
        }
      }
      return undefined
    },
  }
}

const isAboutParams = ({ code, message }: RpcFailure): boolean =>
  code === INVALID_PARAMS || /invalid (params|argument)|too many arguments/i.test(message)

/** Nodes and providers have their own codes for a method that they do not have, or do not allow. */
const isAboutMethod = ({ code, message }: RpcFailure): boolean =>
  code === -32601 ||
  code === -32004 ||
  /method|sendRawTransactionSync|not (supported|allowed|implemented|available)|unsupported/i.test(message)
