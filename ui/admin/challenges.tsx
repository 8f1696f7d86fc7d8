import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { formatAgo, formatCount, formatExactTime, formatUsd, shorten, stateWord } from '../shared/format.ts'
import { Icon } from '../shared/icons.tsx'
import { type ChallengeItem, type NetworkView, STATES } from '../shared/wire.ts'
import { networkName } from './networks.tsx'
import { StateBadge } from './state-badge.tsx'
import { type Filter, useChallenges } from './use-challenges.ts'

const NO_FILTER: Filter = { q: '', state: '', kind: '', network: '' }

export function Challenges({
  tick,
  now,
  networks,
  onOpen,
}: {
  tick: number
  now: number
  /** Only if there are several. */
  networks: NetworkView[] | undefined
  onOpen: (id: string) => void
}): JSX.Element {
  const [typed, setTyped] = useState('')
  const [filter, setFilter] = useState(NO_FILTER)
  const { items, total, fault, more } = useChallenges(filter, tick)
  useEffect(() => {
    const timer = setTimeout(() => setFilter((old) => (old.q === typed ? old : { ...old, q: typed })), 250)
    return () => clearTimeout(timer)
  }, [typed])
  const filtered = filter !== NO_FILTER && filter.q + filter.state + filter.kind + filter.network !== ''

  return (
    <section class="card" aria-labelledby="challenges-title">
      <div class="card-head">
        <h2 id="challenges-title">Sales</h2>
        <span class="muted" role="status">
          {total === undefined
            ? ''
            : countWords(total ?? items.length, filtered, more !== undefined && total === null)}
        </span>
      </div>
      <search class={`filters ${networks ? 'with-networks' : ''}`}>
        <div class="search-box">
          <Icon name="search" />
          <input
            type="search"
            aria-label="Search sales"
            placeholder="Id, payer, transaction, agent, plan…"
            value={typed}
            spellcheck={false}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
        <select
          aria-label="Status"
          value={filter.state}
          onChange={(event) => setFilter({ ...filter, state: event.currentTarget.value })}
        >
          <option value="">Every status</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {stateWord(state)}
            </option>
          ))}
        </select>
        <select
          aria-label="Kind"
          value={filter.kind}
          onChange={(event) => setFilter({ ...filter, kind: event.currentTarget.value })}
        >
          <option value="">Every item</option>
          <option value="plan">Plans</option>
          <option value="route">Routes</option>
        </select>
        {networks && (
          <select
            aria-label="Network"
            value={filter.network}
            onChange={(event) => setFilter({ ...filter, network: event.currentTarget.value })}
          >
            <option value="">Every network</option>
            {networks.map(({ network, name }) => (
              <option key={network} value={network}>
                {name}
              </option>
            ))}
          </select>
        )}
      </search>
      {fault !== '' && (
        <p class="field-message error" role="alert">
          {fault}
        </p>
      )}
      {items.length === 0 && total !== undefined ? (
        <p class="empty">
          {filtered && more
            ? 'Nothing among the newest sales. Show more looks further back; a whole address or hash is found at once.'
            : filtered
              ? 'Nothing matches. Try a part of an id, an address or a hash.'
              : 'No sales yet. When a buyer asks for a price or pays, it appears here automatically.'}
        </p>
      ) : (
        <table class="plain-table challenges">
          <caption class="off-screen">Challenges, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Sold</th>
              <th scope="col">Status</th>
              <th scope="col" class="wide-only">
                Payer
              </th>
              {networks && (
                <th scope="col" class="wide-only">
                  Network
                </th>
              )}
              <th scope="col">When</th>
              <th scope="col" class="number">
                Amount
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <Row
                key={item.challengeId}
                item={item}
                now={now}
                network={networkName(networks, item.network)}
                onOpen={onOpen}
              />
            ))}
          </tbody>
        </table>
      )}
      {more && (
        <button type="button" class="button wide" onClick={more}>
          Show more
        </button>
      )}
    </section>
  )
}

function countWords(count: number, filtered: boolean, soFar: boolean): string {
  return `${formatCount(count)} ${filtered ? 'found' : 'in all'}${soFar ? ' so far' : ''}`
}

function Row({
  item,
  now,
  network,
  onOpen,
}: {
  item: ChallengeItem
  now: number
  /** Its name, if there are several. */
  network: string | undefined
  onOpen: (id: string) => void
}): JSX.Element {
  return (
    <tr data-challenge={item.challengeId}>
      <th scope="row">
        <button type="button" class="link cover" onClick={() => onOpen(item.challengeId)}>
          {item.itemId}
          <span class="off-screen">, details</span>
        </button>
        <span class="sub">
          {item.kind} · {item.transport.toUpperCase()}
          {network !== undefined && <span class="narrow-only"> · {network}</span>}
        </span>
      </th>
      <td>
        <StateBadge state={item.state} />
      </td>
      <td class="wide-only">
        {item.payer ? <code title={item.payer}>{shorten(item.payer)}</code> : <span class="muted">–</span>}
      </td>
      {network !== undefined && <td class="wide-only">{network}</td>}
      <td>
        <time dateTime={item.createdAt} title={formatExactTime(item.createdAt)}>
          {formatAgo(item.createdAt, now)}
        </time>
      </td>
      <td class="number">{formatUsd(item.usd)}</td>
    </tr>
  )
}
