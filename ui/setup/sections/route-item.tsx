import type { JSX } from 'preact'
import { Icon } from '../../shared/icons.tsx'
import { type RouteRow, streams } from '../form-state.ts'
import type { RowMessage } from '../row-messages.ts'
import { Cell, CellShell, RowMessages } from './cell.tsx'
import { MeteredCells, meteredBoxes } from './metered-cells.tsx'
import { NotOffered } from './not-offered.tsx'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

export function RouteItem({
  row,
  index,
  messages,
  onChange,
  onRemove,
}: {
  row: RouteRow
  index: number
  messages: RowMessage[]
  onChange: (part: Partial<RouteRow>) => void
  onRemove: () => void
}): JSX.Element {
  const id = (cell: string): string => `route-${index}-${cell}`
  return (
    <li class="row">
      <fieldset>
        <legend class="off-screen">Route {index + 1}</legend>
        <div class="row-cells route-cells">
          <Cell
            id={id('routeId')}
            cell="routeId"
            label="Route id"
            placeholder="weather"
            value={row.routeId}
            messages={messages}
            mono
            onInput={(routeId) => onChange({ routeId })}
          />
          <CellShell id={id('method')} label="Method">
            <select
              id={id('method')}
              value={row.method}
              onChange={(event) => onChange({ method: event.currentTarget.value })}
            >
              {METHODS.map((method) => (
                <option key={method}>{method}</option>
              ))}
            </select>
          </CellShell>
          <Cell
            id={id('path')}
            cell="path"
            label="Path"
            placeholder="/weather/:city"
            value={row.path}
            messages={messages}
            mono
            onInput={(path) => onChange({ path })}
          />
          {(row.computed || row.metered) && !row.free ? (
            <Cell
              id={id('max')}
              cell="maxAmount"
              label="At most per call"
              dollars
              placeholder="1.00"
              value={row.maxPrice}
              messages={messages}
              onInput={(maxPrice) => onChange({ maxPrice })}
            />
          ) : (
            <Cell
              id={id('price')}
              cell="unitAmount"
              label="Price per call"
              dollars
              placeholder="0.01"
              value={row.free ? '' : row.price}
              disabled={row.free}
              messages={messages}
              onInput={(price) => onChange({ price })}
            />
          )}
          <Cell
            id={id('credits')}
            cell="credits"
            label="Credits"
            placeholder="none"
            inputMode="numeric"
            value={row.free || row.metered ? '' : row.credits}
            disabled={row.free || row.metered}
            messages={messages}
            onInput={(credits) => onChange({ credits })}
          />
          <Cell
            id={id('description')}
            cell="description"
            label="Description"
            placeholder="The forecast for one city"
            value={row.description}
            messages={messages}
            wide
            onInput={(description) => onChange({ description })}
          />
        </div>
        <label class="inline-check">
          <input
            type="checkbox"
            checked={row.free}
            onChange={(event) => onChange({ free: event.currentTarget.checked })}
          />
          Free of charge: passed on without payment
        </label>
        {!row.free && !row.metered && (
          <label class="inline-check">
            <input
              type="checkbox"
              checked={row.computed}
              onChange={(event) => onChange({ computed: event.currentTarget.checked })}
            />
            Computed price: your server is asked what each call costs
          </label>
        )}
        {row.computed && !row.free && !row.metered && (
          <Cell
            id={id('priceFrom')}
            cell="priceFrom"
            label="Where the price is asked"
            placeholder="http://backend:8080/price"
            value={row.priceFrom}
            messages={messages}
            mono
            onInput={(priceFrom) => onChange({ priceFrom })}
          />
        )}
        {!row.free && (row.metered || !row.computed) && (
          <MeteredCells row={row} id={id} messages={messages} onChange={onChange} />
        )}
        {!row.free && (
          <label class="inline-check">
            <input
              type="checkbox"
              checked={row.raw || streams(row)}
              disabled={streams(row)}
              onChange={(event) => onChange({ raw: event.currentTarget.checked })}
            />
            Raw: buyers get your API’s own status, headers and body, not wrapped in JSON
          </label>
        )}
        <RowMessages
          messages={messages}
          boxes={{
            routeId: { id: id('routeId'), label: 'Route id' },
            method: { id: id('method'), label: 'Method' },
            path: { id: id('path'), label: 'Path' },
            unitAmount: { id: id('price'), label: 'Price per call' },
            maxAmount: { id: id('max'), label: 'At most per call' },
            priceFrom: { id: id('priceFrom'), label: 'Where the price is asked' },
            credits: { id: id('credits'), label: 'Credits' },
            ...meteredBoxes(id),
            description: { id: id('description'), label: 'Description' },
          }}
        />
        {!row.free && <NotOffered list="routeIds" id={row.routeId} />}
      </fieldset>
      <button
        type="button"
        class="button quiet icon-only"
        aria-label={`Remove route ${row.routeId || index + 1}`}
        onClick={onRemove}
      >
        <Icon name="trash" />
      </button>
    </li>
  )
}
