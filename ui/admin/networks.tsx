import type { JSX } from 'preact'
import { formatAgo, formatCount, formatExactTime, formatUsd } from '../shared/format.ts'
import type { NetworkView, Overview } from '../shared/wire.ts'

/** What every network brought, and whether payments on it are offered. Shows nothing if there is only one. */
export function Networks({
  overview,
  now,
}: {
  overview: Overview | undefined
  now: number
}): JSX.Element | null {
  const networks = overview?.networks
  if (!networks) return null
  const top = Math.max(1, ...networks.map(({ micro }) => Number(micro)))
  return (
    <section class="card" aria-labelledby="networks-title">
      <div class="card-head">
        <h2 id="networks-title">Networks</h2>
      </div>
      <table class="plain-table networks">
        <caption class="off-screen">Networks, and revenue by network</caption>
        <thead>
          <tr>
            <th scope="col">Network</th>
            <th scope="col" class="number">
              Sold
            </th>
            <th scope="col" class="number">
              Revenue
            </th>
          </tr>
        </thead>
        <tbody>
          {networks.map((network) => (
            <tr key={network.network}>
              <th scope="row">
                <span class="item-name">
                  <span title={network.network}>{network.name}</span> <NetworkState network={network} />
                </span>
                <svg class="bar paid" aria-hidden="true" focusable="false" width="100%" height="4">
                  <rect
                    class="bar-part"
                    width={`${Math.max(0, Number(network.micro) / top) * 100}%`}
                    height="4"
                    rx="2"
                  />
                </svg>
                <NetworkNote network={network} now={now} />
              </th>
              <td class="number">{formatCount(network.sold)}</td>
              <td class="number">{formatUsd(network.usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

export function NetworkState({ network }: { network: NetworkView }): JSX.Element {
  const { configured, withdrawn } = network
  if (!configured) return <span class="state plain">No longer sold on</span>
  return withdrawn ? <span class="state error">Withdrawn</span> : <span class="state ok">Offered</span>
}

/** Nobody sells for less. */
const WORTH_TELLING_USD = 0.001

/** Why and since when it is withdrawn, and what costs too little for its gas. */
function NetworkNote({ network, now }: { network: NetworkView; now: number }): JSX.Element | null {
  const { withdrawn } = network
  // Written as `$0.05`.
  const least = Number(network.leastUsd?.slice(1) ?? 0)
  const leastUsd = least >= WORTH_TELLING_USD ? network.leastUsd : null
  if (!withdrawn && leastUsd === null) return null
  return (
    <span class="sub">
      {withdrawn && (
        <>
          Since{' '}
          <time dateTime={withdrawn.since} title={formatExactTime(withdrawn.since)}>
            {formatAgo(withdrawn.since, now)}
          </time>
          : {withdrawn.reason}.{' '}
        </>
      )}
      {leastUsd !== null && `From ${formatUsd(leastUsd)} per sale: less does not carry its gas now.`}
    </span>
  )
}

/** The name of a network, if there are several. */
export function networkName(networks: readonly NetworkView[] | undefined, id: string): string | undefined {
  return networks && (networks.find(({ network }) => network === id)?.name ?? id)
}
