import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../../shared/icons.tsx'
import type { ImportPreview } from '../../shared/wire.ts'
import type { RouteRow } from '../form-state.ts'

const isFree = (price: string): boolean => /^(free|0+(\.0*)?)$/i.test(price.trim())

/** Its price differs from call to call, and stays so unless a price is typed. */
const isByCall = ({ computed, metered }: RouteRow): boolean => computed || metered
const isPriced = (row: RouteRow): boolean => row.free || isByCall(row) || row.price.trim() !== ''
const fixed = { computed: false, metered: false }

/** What would be imported: each route can be left out or priced, before all of them are taken over. */
export function ImportedRoutes({
  preview,
  rows: start,
  onTake,
}: {
  preview: ImportPreview
  rows: RouteRow[]
  onTake: (rows: RouteRow[]) => void
}): JSX.Element {
  const [rows, setRows] = useState(start)
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [all, setAll] = useState('')
  const chosen = rows.filter(({ routeId }) => !left.has(routeId))
  const unpriced = chosen.filter((row) => !isPriced(row)).length
  const change = (routeId: string, part: Partial<RouteRow>): void =>
    setRows((old) => old.map((row) => (row.routeId === routeId ? { ...row, ...part } : row)))
  const { notImported, imported, notes, backendFault } = preview
  return (
    <div class="import-preview">
      <h3>
        {preview.title}: {rows.length === 1 ? 'one route' : `${rows.length} routes`}
      </h3>
      {rows.length > 0 && (
        <div class="import-source">
          <div class="cell">
            <label for="import-all">One price for all without a price, or “free”</label>
            <div class="with-prefix">
              <span class="prefix" aria-hidden="true">
                $
              </span>
              <input
                id="import-all"
                type="text"
                inputMode="decimal"
                placeholder="0.01"
                autocomplete="off"
                value={all}
                onInput={(event) => setAll(event.currentTarget.value)}
              />
            </div>
          </div>
          <button
            type="button"
            class="button"
            disabled={all.trim() === ''}
            onClick={() =>
              setRows((old) =>
                old.map((row) => (isPriced(row) ? row : { ...row, price: all.trim(), free: isFree(all) })),
              )
            }
          >
            Set the price
          </button>
        </div>
      )}
      <ul class="import-list">
        {rows.map((row, index) => {
          const name = `${row.method} ${row.path}`
          const { kind, changes, note } = imported[index]!
          return (
            <li key={row.routeId}>
              <label class="import-name">
                <input
                  type="checkbox"
                  checked={!left.has(row.routeId)}
                  onChange={(event) => {
                    const next = new Set(left)
                    if (event.currentTarget.checked) next.delete(row.routeId)
                    else next.add(row.routeId)
                    setLeft(next)
                  }}
                />
                <span>
                  <code>{name}</code>
                  <span class="hint">
                    {[
                      kind === 'added'
                        ? 'new'
                        : kind === 'same'
                          ? 'unchanged'
                          : `changed: ${changes.join(', ')}`,
                      row.description,
                      note,
                    ]
                      .filter(Boolean)
                      .join(' · ')}
                  </span>
                </span>
              </label>
              <div class="with-prefix">
                <span class="prefix" aria-hidden="true">
                  $
                </span>
                <input
                  type="text"
                  inputMode="decimal"
                  aria-label={`Price of ${name}`}
                  placeholder={row.free ? 'free' : isByCall(row) ? `up to ${row.maxPrice}` : ''}
                  autocomplete="off"
                  value={isByCall(row) ? '' : row.price}
                  onInput={(event) => {
                    const price = event.currentTarget.value
                    change(row.routeId, { price, free: isFree(price), ...fixed })
                  }}
                />
              </div>
            </li>
          )
        })}
      </ul>
      {[...(backendFault === undefined ? [] : [backendFault]), ...notes].map((text) => (
        <p key={text} class="field-message warn">
          <Icon name="warn" />
          <span>{text}</span>
        </p>
      ))}
      {notImported.length > 0 && (
        <details open={notImported.length < 6}>
          <summary>Not imported: {notImported.length}</summary>
          <ul class="import-left">
            {notImported.map(({ method, path, reason }) => (
              <li key={`${method} ${path}`}>
                <code>
                  {method} {path}
                </code>{' '}
                {reason}.
              </li>
            ))}
          </ul>
        </details>
      )}
      <div class="buttons">
        <button
          type="button"
          class="button primary"
          disabled={chosen.length === 0 || unpriced > 0}
          onClick={() => onTake(chosen)}
        >
          Put {chosen.length === 1 ? 'this route' : `these ${chosen.length} routes`} into the list
        </button>
        {unpriced > 0 && <span class="hint">{unpriced} without a price</span>}
      </div>
    </div>
  )
}
