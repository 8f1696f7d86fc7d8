import type { JSX } from 'preact'
import { formatCount, formatUsd } from '../shared/format.ts'
import type { Overview } from '../shared/wire.ts'

const SHOWN = 12

export function Revenue({ overview }: { overview: Overview | undefined }): JSX.Element {
  const items = [...(overview?.revenue.perItem ?? [])].sort((a, b) =>
    Number(BigInt(b.micro) - BigInt(a.micro)),
  )
  const top = Number(items[0]?.micro ?? 0)
  return (
    <section class="card" aria-labelledby="revenue-title">
      <div class="card-head">
        <h2 id="revenue-title">Revenue by plan and route</h2>
      </div>
      {items.length === 0 ? (
        <p class="empty">{overview ? 'Nothing was sold in this time.' : '\u00a0'}</p>
      ) : (
        <table class="plain-table">
          <caption class="off-screen">Revenue by plan and route</caption>
          <thead>
            <tr>
              <th scope="col">Plan or route</th>
              <th scope="col" class="number">
                Sold
              </th>
              <th scope="col" class="number">
                Revenue
              </th>
            </tr>
          </thead>
          <tbody>
            {items.slice(0, SHOWN).map(({ kind, id, sold, micro, usd }) => (
              <tr key={kind + id}>
                <th scope="row">
                  <span class="item-name">
                    <code>{id}</code> <span class="kind">{kind}</span>
                  </span>
                  <svg class="bar paid" aria-hidden="true" focusable="false" width="100%" height="4">
                    <rect class="bar-part" width={`${(Number(micro) / top) * 100}%`} height="4" rx="2" />
                  </svg>
                </th>
                <td class="number">{formatCount(sold)}</td>
                <td class="number">{formatUsd(usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {items.length > SHOWN && <p class="hint">And {items.length - SHOWN} more; the export has them all.</p>}
    </section>
  )
}
