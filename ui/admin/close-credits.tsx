import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../shared/api.ts'
import { formatCount, formatMicro, formatUsd } from '../shared/format.ts'
import type { ClosedCredits, SaleCredits } from '../shared/wire.ts'

/** Ends a purchase of credits, after the operator has seen what goes back and confirmed it. */
export function CloseCredits({
  credits,
  onChanged,
}: {
  credits: SaleCredits
  onChanged: () => void
}): JSX.Element | null {
  const [asking, ask] = useState(false)
  const [said, say] = useState('')
  const { challengeId, canClose, left, unspentMicro } = credits
  const close = (): void => {
    ask(false)
    post<ClosedCredits>(`/admin/api/challenges/${encodeURIComponent(challengeId)}/close-credits`, {}).then(
      ({ status, refund }) => {
        say(closedWords(status, refund))
        onChanged()
      },
      (error: Error) => say(error.message),
    )
  }
  if (!canClose && said === '') return null
  return (
    <div class="actions">
      {canClose && !asking && (
        <div class="buttons">
          <button type="button" class="button" onClick={() => ask(true)}>
            Close and refund…
          </button>
        </div>
      )}
      {canClose && asking && (
        <>
          <p>
            The buyer can spend nothing more of this purchase, and gets about {formatMicro(unspentMicro)} back
            for {formatCount(left)} unspent credits. This cannot be undone.
          </p>
          <div class="buttons">
            <button type="button" class="button" onClick={close}>
              Close and refund {formatMicro(unspentMicro)}
            </button>
            <button type="button" class="button quiet" onClick={() => ask(false)}>
              Keep it
            </button>
          </div>
        </>
      )}
      <p role="status" class="action-said">
        {said}
      </p>
    </div>
  )
}

function closedWords(status: string, refund: ClosedCredits['refund']): string {
  if (status === 'closing') return 'Closing: the refund follows when the calls under way have ended.'
  return refund ? `Closed. ${formatUsd(refund.usd)} goes back.` : 'Closed. Nothing was left to refund.'
}
