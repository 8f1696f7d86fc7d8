import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../shared/api.ts'
import { formatAgo, formatExactTime } from '../shared/format.ts'
import { Icon } from '../shared/icons.tsx'
import type { AlertView } from '../shared/wire.ts'

/** The alerts, until the operator marks them as read. */
export function Alerts({
  alerts,
  now,
  onCleared,
}: {
  alerts: AlertView[]
  now: number
  onCleared: () => void
}): JSX.Element | null {
  const [fault, setFault] = useState('')
  if (alerts.length === 0) return null
  const clear = (): void => {
    post('/admin/api/alerts/clear').then(onCleared, (error: Error) => setFault(error.message))
  }
  return (
    <section class="notice error alerts" aria-labelledby="alerts-title">
      <Icon name="warn" />
      <div>
        <h2 id="alerts-title" class="notice-title">
          {alerts.length === 1 ? 'One unread alert' : `${alerts.length} unread alerts`}
        </h2>
        <ul>
          {alerts.map(({ kind, message, at, count }) => (
            <li key={kind + message}>
              {message}{' '}
              <span class="alert-when">
                <time dateTime={at} title={formatExactTime(at)}>
                  {formatAgo(at, now)}
                </time>
                {count > 1 && `, ${count} times`}
              </span>
            </li>
          ))}
        </ul>
        {fault !== '' && <p role="alert">{fault}</p>}
      </div>
      <button type="button" class="button small" onClick={clear}>
        Mark as read
      </button>
    </section>
  )
}
