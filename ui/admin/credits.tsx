import type { JSX } from 'preact'
import { formatCount, shorten } from '../shared/format.ts'
import type { CreditFigures, CreditsView } from '../shared/wire.ts'
import { useData } from './use-data.ts'

/** Prepaid credits: sold, spent and outstanding. Shows nothing if none were ever sold. */
export function Credits({ tick, now }: { tick: number; now: number }): JSX.Element | null {
  // Calls change the figures without a log entry, so they are read again with the clock as well.
  const { data } = useData<CreditsView>('/admin/api/credits', tick + now)
  if (!data || data.totals.lots === 0) return null
  const { totals, perPlan, perWallet, wallets } = data
  return (
    <section class="card" aria-labelledby="credits-title">
      <div class="card-head">
        <h2 id="credits-title">Credits</h2>
        <span class="muted">{formatCount(totals.outstanding)} outstanding</span>
      </div>
      <Figures
        caption="Credits by plan"
        first="Plan"
        rows={perPlan.map((figures) => ({
          key: figures.planId,
          name: <code>{figures.planId}</code>,
          figures,
        }))}
      />
      {totals.spentUnpaid > 0 && (
        <p class="field-message error">
          {formatCount(totals.spentUnpaid)} were spent of payments that the chain took back.
        </p>
      )}
      <h3>By wallet</h3>
      <Figures
        caption="Credits by wallet"
        first="Wallet"
        rows={perWallet.map((figures) => ({
          key: figures.payer,
          name: <code title={figures.payer}>{shorten(figures.payer)}</code>,
          figures,
        }))}
      />
      {wallets > perWallet.length && (
        <p class="hint">
          And {formatCount(wallets - perWallet.length)} more wallets; the export of credits has them all.
        </p>
      )}
    </section>
  )
}

function Figures({
  caption,
  first,
  rows,
}: {
  caption: string
  first: string
  rows: Array<{ key: string; name: JSX.Element; figures: CreditFigures }>
}): JSX.Element {
  return (
    <table class="plain-table aligned">
      <caption class="off-screen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{first}</th>
          <th scope="col" class="number">
            Sold
          </th>
          <th scope="col" class="number">
            Spent
          </th>
          <th scope="col" class="number">
            Left
          </th>
          <th scope="col" class="number wide-only">
            Expired
          </th>
          <th scope="col" class="number wide-only">
            Refunded
          </th>
          <th scope="col" class="number wide-only">
            Lost
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, name, figures }) => (
          <tr key={key}>
            <th scope="row">{name}</th>
            <td class="number">{formatCount(figures.sold)}</td>
            <td class="number">{formatCount(figures.spent)}</td>
            <td class="number">{formatCount(figures.outstanding)}</td>
            <td class="number wide-only">{formatCount(figures.expired)}</td>
            <td class="number wide-only">{formatCount(figures.closed)}</td>
            <td class="number wide-only">{formatCount(figures.lost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
