import type { JSX } from 'preact'
import type { RouteRow } from '../form-state.ts'
import type { RowMessage } from '../row-messages.ts'
import { Cell, CellShell } from './cell.tsx'

type Id = (cell: string) => string

/** How a metered call is charged, and what of it may be streamed. Its maximum stands where the price does. */
export function MeteredCells({
  row,
  id,
  messages,
  onChange,
}: {
  row: RouteRow
  id: Id
  messages: RowMessage[]
  onChange: (part: Partial<RouteRow>) => void
}): JSX.Element {
  return (
    <>
      <label class="inline-check">
        <input
          type="checkbox"
          checked={row.metered}
          onChange={(event) => onChange({ metered: event.currentTarget.checked })}
        />
        Metered: the buyer signs a maximum, and each call is charged what it cost
      </label>
      {row.metered && (
        <>
          <div class="row-cells metered-cells">
            <Cell
              id={id('chargePer')}
              cell="charge.per"
              label="Count in the answer"
              placeholder="/usage/total_tokens"
              value={row.chargePer}
              messages={messages}
              mono
              onInput={(chargePer) => onChange({ chargePer })}
            />
            <Cell
              id={id('chargeUnit')}
              cell="charge.unitAmount"
              label="Price of one"
              dollars
              placeholder="0.000002"
              value={row.chargeUnit}
              messages={messages}
              onInput={(chargeUnit) => onChange({ chargeUnit })}
            />
            <CellShell id={id('unstated')} label="If the answer does not say">
              <select
                id={id('unstated')}
                value={row.chargeIfUnstated || 'maximum'}
                onChange={(event) =>
                  onChange({ chargeIfUnstated: event.currentTarget.value as RouteRow['chargeIfUnstated'] })
                }
              >
                <option value="maximum">charge the maximum</option>
                <option value="nothing">charge nothing</option>
              </select>
            </CellShell>
          </div>
          <p class="hint">
            Count × price is charged, up to the maximum. The header <code>Settlement-Overrides</code> of your
            API goes before it; leave both empty if it always sends one. Metered calls need a gas wallet of
            your own.
          </p>
          <Streaming row={row} id={id} messages={messages} onChange={onChange} />
        </>
      )}
    </>
  )
}

function Streaming({ row, id, messages, onChange }: Parameters<typeof MeteredCells>[0]): JSX.Element {
  return (
    <>
      <label class="inline-check">
        <input
          type="checkbox"
          checked={row.stream}
          onChange={(event) => onChange({ stream: event.currentTarget.checked })}
        />
        Streamed: event streams go out as they come, to buyers who have paid before
      </label>
      {row.stream && (
        <>
          <div class="row-cells metered-cells">
            <Cell
              id={id('streamPerPayer')}
              cell="stream.maxUnpaidPerPayer"
              label="Unpaid, one buyer"
              dollars
              placeholder="0.10"
              value={row.streamPerPayer}
              messages={messages}
              onInput={(streamPerPayer) => onChange({ streamPerPayer })}
            />
            <Cell
              id={id('streamAll')}
              cell="stream.maxUnpaid"
              label="Unpaid, all buyers"
              dollars
              placeholder="5.00"
              value={row.streamAll}
              messages={messages}
              onInput={(streamAll) => onChange({ streamAll })}
            />
          </div>
          <p class="hint">
            The most that is out unpaid, under way and lost today. Beyond it, answers wait for their payment.
          </p>
        </>
      )}
    </>
  )
}

/** Where the server's messages about these boxes belong; a message about the whole rule stands at its first box. */
export const meteredBoxes = (id: Id): Record<string, { id: string; label: string }> => ({
  'charge.per': { id: id('chargePer'), label: 'Count in the answer' },
  'charge.unitAmount': { id: id('chargeUnit'), label: 'Price of one' },
  'stream.maxUnpaidPerPayer': { id: id('streamPerPayer'), label: 'Unpaid, one buyer' },
  'stream.maxUnpaid': { id: id('streamAll'), label: 'Unpaid, all buyers' },
})
