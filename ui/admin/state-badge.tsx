import type { JSX } from 'preact'
import { stateWord } from '../shared/format.ts'

const TONES: Record<string, string> = {
  DELIVERED: 'ok',
  PAID: 'info',
  PENDING: 'plain',
  EXPIRED: 'plain',
  CANCELLED: 'plain',
  REFUND_PENDING: 'warn',
  REFUNDED: 'info',
  REFUND_FAILED: 'error',
}

export function StateBadge({ state }: { state: string }): JSX.Element {
  return (
    <span class={`state ${TONES[state] ?? 'plain'}`} title={state}>
      {stateWord(state)}
    </span>
  )
}
