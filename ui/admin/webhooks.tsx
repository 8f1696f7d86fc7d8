import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../shared/api.ts'
import { formatAgo, formatExactTime, shorten } from '../shared/format.ts'
import type { WebhookDelivery, WebhookState } from '../shared/wire.ts'
import { useData } from './use-data.ts'

const SHOWN = 10

/** Who is told of events, and what became of the last ones. Shows nothing if nobody is told. */
export function Webhooks({ tick, now }: { tick: number; now: number }): JSX.Element | null {
  const [asked, askAgain] = useState(0)
  const [said, say] = useState('')
  const { data: state } = useData<WebhookState>('/admin/api/webhooks', tick + asked)
  const isUsed = state !== undefined && state.endpoints.length > 0
  const path = isUsed ? `/admin/api/webhooks/deliveries?limit=${SHOWN}` : undefined
  const { data } = useData<{ items: WebhookDelivery[] }>(path, tick + asked)
  if (!isUsed) return null
  const act = (path: string, body: object, done: (answer: Record<string, unknown>) => string): void => {
    post<Record<string, unknown>>(path, body).then(
      (answer) => {
        say(done(answer))
        askAgain((count) => count + 1)
      },
      (error: Error) => say(error.message),
    )
  }
  const test = (endpoint: string, host: string): void =>
    act('/admin/api/webhooks/test', { endpoint }, ({ status, text }) =>
      status === null ? `${host}: ${text}` : `${host} answered ${status}.`,
    )
  const resend = (body: object): void =>
    act('/admin/api/webhooks/resend', body, ({ resent }) =>
      resent === 1 ? 'It is sent again.' : `${resent} events are sent again.`,
    )
  const items = (data?.items ?? []).slice(0, SHOWN)
  return (
    <section class="card" aria-labelledby="webhooks-title">
      <div class="card-head">
        <h2 id="webhooks-title">Webhooks</h2>
        {state.parked > 0 && (
          <button type="button" class="button small" onClick={() => resend({ parked: true })}>
            Resend {state.parked} parked
          </button>
        )}
      </div>
      <p role="status" class="action-said">
        {said}
      </p>
      <table class="plain-table">
        <caption class="off-screen">Endpoints</caption>
        <tbody>
          {state.endpoints.map(({ id, host, events }) => (
            <tr key={id}>
              <th scope="row">
                {host}
                <code class="sub">{id}</code>
              </th>
              <td>{events === null ? 'all events' : events.join(', ')}</td>
              <td class="number">
                <button type="button" class="button small" onClick={() => test(id, host)}>
                  Test<span class="off-screen"> {host}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {items.length > 0 && (
        <table class="plain-table">
          <caption class="off-screen">The last deliveries</caption>
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col">Status</th>
              <th scope="col" class="wide-only">
                Last answer
              </th>
              <th scope="col" class="wide-only">
                Happened
              </th>
              <th scope="col">
                <span class="off-screen">What you can do</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={item.key}>
                <th scope="row">
                  {item.type}
                  <code class="sub" title={item.eventId}>
                    {shorten(item.eventId)}
                  </code>
                </th>
                <td>{item.phase.toLowerCase()}</td>
                <td class="reason wide-only">{answerOf(item)}</td>
                <td class="wide-only">
                  <time dateTime={item.at} title={formatExactTime(item.at)}>
                    {formatAgo(item.at, now)}
                  </time>
                </td>
                <td class="number">
                  {item.phase !== 'WAITING' && (
                    <button type="button" class="button small" onClick={() => resend({ key: item.key })}>
                      Resend<span class="off-screen"> {item.type}</span>
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function answerOf({ answers }: WebhookDelivery): string {
  const last = answers.at(-1)
  return last ? `${last.status ?? ''} ${last.text}`.trim() : '–'
}
