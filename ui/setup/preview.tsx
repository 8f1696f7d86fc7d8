import type { JSX } from 'preact'
import { formatMicro, shorten } from '../shared/format.ts'
import type { PaymentRequired } from '../shared/wire.ts'
import { Json } from './json.tsx'
import { useSetupContext } from './use-setup.ts'

/** The 402 that a buyer would get from what is typed now. */
export function Preview(): JSX.Element {
  const { answer, checking, state } = useSetupContext()
  const preview = answer?.preview ?? null
  return (
    <section class="card preview" aria-labelledby="preview-title">
      <div class="card-head">
        <h2 id="preview-title">What a buyer sees</h2>
        <span class={`checking ${checking ? 'on' : ''}`} role="status">
          {checking ? 'Checking…' : ''}
        </span>
      </div>
      {preview ? (
        <>
          <Offer preview={preview} networks={state.networks} />
          <details class="more">
            <summary>The whole answer</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
            <pre class="code" tabIndex={0}>
              <Json value={preview} />
            </pre>
          </details>
        </>
      ) : (
        <p class="empty">
          Give a wallet and a plan or route with a price, and the offer that your buyers get appears here.
        </p>
      )}
    </section>
  )
}

function Offer({
  preview,
  networks,
}: {
  preview: PaymentRequired
  networks: ReadonlyArray<{ id: string; name: string }>
}): JSX.Element | null {
  const [terms] = preview.accepts
  if (!terms) return null
  const rows = [
    ['For', terms.extra.planId ?? terms.extra.routeId ?? ''],
    ['Pay to', shorten(terms.payTo, 8, 6)],
    [
      preview.accepts.length > 1 ? 'Networks' : 'Network',
      preview.accepts
        .map(({ network }) => networks.find(({ id }) => id === network)?.name ?? network)
        .join(', '),
    ],
    ['Valid for', `${Math.round(terms.maxTimeoutSeconds / 60)} minutes`],
  ]
  return (
    <div class="offer">
      <p class="offer-status">
        <span>HTTP 402</span> Payment Required
      </p>
      <p class="offer-price">
        {terms.scheme === 'upto' && <span>up to </span>}
        {formatMicro(terms.amount)} <span>USDC</span>
      </p>
      {terms.extra.description && <p class="offer-text">{terms.extra.description}</p>}
      <dl>
        {rows.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
