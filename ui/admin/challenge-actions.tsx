import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../shared/api.ts'
import type { ChallengeDetail, ChallengeItem } from '../shared/wire.ts'

/** The actions for a challenge in its state. The server decides whether they are still possible. */
export function ChallengeActions({
  challenge,
  refunds,
  onChanged,
}: {
  challenge: ChallengeItem
  /** One that has failed can be tried again; the state does not tell of those of credits and second payments. */
  refunds: ChallengeDetail['refunds']
  onChanged: () => void
}): JSX.Element | null {
  const [said, say] = useState('')
  const [txHash, setTxHash] = useState('')
  const { state, challengeId } = challenge
  const act = (verb: string, done: string, body: unknown = {}): void => {
    post(`/admin/api/challenges/${encodeURIComponent(challengeId)}/${verb}`, body).then(
      () => {
        say(done)
        onChanged()
      },
      (error: Error) => say(error.message),
    )
  }
  const canCancel = state === 'PENDING'
  const failed = refunds.filter(({ phase }) => phase === 'FAILED')
  const canRetry = state === 'REFUND_FAILED' || failed.length > 0
  // A second payment that was returned by hand is not known by its transaction.
  const canResolve = state === 'REFUND_FAILED' || failed.some(({ surplus }) => !surplus)
  if (!canCancel && !canRetry && said === '') return null
  return (
    <div class="actions">
      <div class="buttons">
        {canCancel && (
          <button type="button" class="button" onClick={() => act('cancel', 'Cancelled.')}>
            Cancel this offer
          </button>
        )}
        {canRetry && (
          <button
            type="button"
            class="button"
            onClick={() => act('retry-refund', 'The refund will be tried again.')}
          >
            Retry the refund
          </button>
        )}
      </div>
      {canResolve && (
        <form
          class="resolve"
          onSubmit={(event) => {
            event.preventDefault()
            act('resolve-refund', 'Noted: it was refunded by hand.', { txHash: txHash.trim() })
          }}
        >
          <label for="resolve-hash">
            Refunded by hand? Name the transaction; the chain is asked whether it is so.
          </label>
          <div class="resolve-row">
            <input
              id="resolve-hash"
              class="mono"
              placeholder="0x…"
              value={txHash}
              spellcheck={false}
              autocomplete="off"
              onInput={(event) => setTxHash(event.currentTarget.value)}
            />
            <button type="submit" class="button">
              Resolve
            </button>
          </div>
        </form>
      )}
      <p role="status" class="action-said">
        {said}
      </p>
    </div>
  )
}
