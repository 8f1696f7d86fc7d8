import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../shared/api.ts'
import { formatAgo, formatExactTime, formatUsd, shorten } from '../shared/format.ts'
import type { NetworkView, WaitingRefund } from '../shared/wire.ts'
import { networkName } from './networks.tsx'
import { StateBadge } from './state-badge.tsx'
import { useData } from './use-data.ts'

/** Refunds that are due and not paid yet. Shows nothing if there are none. */
export function RefundsWaiting({
  tick,
  now,
  networks,
  onOpen,
  onChanged,
}: {
  tick: number
  now: number
  /** Only if there are several. */
  networks: NetworkView[] | undefined
  onOpen: (id: string) => void
  onChanged: () => void
}): JSX.Element | null {
  const { data, fault } = useData<{ items: WaitingRefund[] }>('/admin/api/refunds', tick)
  const [said, say] = useState('')
  const items = data?.items ?? []
  if (items.length === 0 && fault === '') return null
  const retry = ({ challengeId, itemId }: WaitingRefund): void => {
    post(`/admin/api/challenges/${encodeURIComponent(challengeId)}/retry-refund`).then(
      () => {
        say(`The refund for ${itemId} will be tried again.`)
        onChanged()
      },
      (error: Error) => say(error.message),
    )
  }
  return (
    <section class="card" aria-labelledby="refunds-title">
      <div class="card-head">
        <h2 id="refunds-title">Refunds waiting</h2>
        <span class="muted">{items.length}</span>
      </div>
      <p class="muted">
        Paid, but not delivered, a second payment of a sale, or unspent credits of a closed purchase. These go
        back automatically once the payment is final on the chain; failed ones need you.
      </p>
      <p role="status" class="action-said">
        {fault || said}
      </p>
      <table class="plain-table">
        <caption class="off-screen">Refunds waiting</caption>
        <thead>
          <tr>
            <th scope="col">Sale</th>
            <th scope="col">Status</th>
            <th scope="col" class="wide-only">
              Reason
            </th>
            <th scope="col" class="wide-only">
              Since
            </th>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col">
              <span class="off-screen">What you can do</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => (
            // A sale may have several.
            <tr key={`${item.challengeId} ${index}`}>
              <th scope="row">
                <button type="button" class="link" onClick={() => onOpen(item.challengeId)}>
                  {item.itemId}
                </button>
                {item.payer && <code class="sub">{shorten(item.payer)}</code>}
                {item.credits && <span class="sub">unspent credits</span>}
                {item.surplus && <span class="sub">second payment</span>}
                {networks && <span class="sub">{networkName(networks, item.network)}</span>}
              </th>
              <td>
                <StateBadge state={item.state} />
                {item.failed && item.state !== 'REFUND_FAILED' && <span class="sub">its refund failed</span>}
              </td>
              <td class="reason wide-only">
                {item.reason ?? '–'}
                {item.attempts > 0 && (
                  <span class="sub">
                    {item.attempts === 1 ? 'tried once' : `tried ${item.attempts} times`}
                  </span>
                )}
              </td>
              <td class="wide-only">
                <time dateTime={item.since} title={formatExactTime(item.since)}>
                  {formatAgo(item.since, now)}
                </time>
              </td>
              <td class="number">{formatUsd(item.usd)}</td>
              <td class="number">
                {item.failed && (
                  <button type="button" class="button small" onClick={() => retry(item)}>
                    Retry<span class="off-screen"> the refund for {item.itemId}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
