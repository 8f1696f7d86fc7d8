import type { JSX } from 'preact'
import { formatExactTime, shorten, stateWord } from '../shared/format.ts'
import type { TimelineEntry } from '../shared/wire.ts'

/** The audit log of one challenge, oldest first. */
export function Timeline({ entries }: { entries: TimelineEntry[] }): JSX.Element {
  if (entries.length === 0) return <p class="empty">Nothing was written down yet.</p>
  return (
    <ol class="timeline">
      {entries.map((entry) => (
        <li key={entry.seq} class={toneOf(entry)}>
          <div class="timeline-head">
            <span class="timeline-event">{words(entry.event)}</span>
            <time dateTime={entry.at}>{formatExactTime(entry.at)}</time>
          </div>
          <p class="timeline-text">
            {entry.toState && entry.toState !== entry.fromState && `${stateWord(entry.toState)} · `}
            by {entry.actor}
            {entry.txHash && (
              <>
                {' · '}
                <code title={entry.txHash}>{shorten(entry.txHash, 10, 6)}</code>
              </>
            )}
          </p>
          {hasDetails(entry.details) && (
            <details>
              <summary>Details</summary>
              <pre class="code small">{JSON.stringify(entry.details, null, 2)}</pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  )
}

/** `payment.confirmed` and `PAYMENT_CONFIRMED` → `Payment confirmed`. */
function words(event: string): string {
  const text = event.replaceAll(/[._-]/g, ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function hasDetails(details: unknown): boolean {
  return typeof details === 'object' && details !== null && Object.keys(details).length > 0
}

function toneOf({ toState, fromState }: TimelineEntry): string {
  if (!toState || toState === fromState) return ''
  if (toState === 'DELIVERED' || toState === 'PAID') return 'ok'
  if (toState === 'REFUND_FAILED') return 'error'
  return toState.startsWith('REFUND') ? 'warn' : ''
}
