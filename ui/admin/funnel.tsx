import type { JSX } from 'preact'
import { isEmbedded } from '../shared/api.ts'
import { formatCount, formatPercent } from '../shared/format.ts'
import type { Overview } from '../shared/wire.ts'

const STEPS = [
  ['challenges', 'Recorded offers'],
  ['paid', 'Paid'],
  ['delivered', 'Delivered'],
  ['refunded', 'Refunded'],
] as const

/** How many challenges reached each step from the 402 to the delivery. */
export function Funnel({ overview }: { overview: Overview | undefined }): JSX.Element {
  const funnel = overview?.funnel
  const whole = Math.max(funnel?.challenges ?? 0, funnel?.paid ?? 0)
  return (
    <section class="card" aria-labelledby="funnel-title">
      <div class="card-head">
        <h2 id="funnel-title">From offer to delivery</h2>
      </div>
      <p class="hint">
        {isEmbedded ? (
          'Recorded are offers that were paid. Unpaid ones are not counted here.'
        ) : (
          <>
            Recorded are offers that were paid, and those that a buyer asked for under an id of its own. Every
            other unpaid 402 is only counted, in <code>svc_payments_total</code>.
          </>
        )}
      </p>
      <ul class="funnel">
        {STEPS.map(([key, name]) => {
          const count = funnel?.[key] ?? 0
          return (
            <li key={key}>
              <div class="funnel-words">
                <span>{name}</span>
                <span class="numbers">
                  {funnel ? formatCount(count) : '–'}
                  <span class="share">{key === 'challenges' ? '' : formatPercent(count, whole)}</span>
                </span>
              </div>
              <svg class={`bar ${key}`} aria-hidden="true" focusable="false" width="100%" height="8">
                <rect class="bar-ground" width="100%" height="8" rx="4" />
                {count > 0 && (
                  <rect class="bar-part" width={`${Math.max(1, (count / whole) * 100)}%`} height="8" rx="4" />
                )}
              </svg>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
