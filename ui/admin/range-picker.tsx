import type { JSX } from 'preact'
import { RANGES, type Range } from '../shared/wire.ts'

export const RANGE_WORDS: Record<Range, string> = {
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  all: 'All time',
}
const SHORT: Record<Range, string> = { '24h': '24 h', '7d': '7 days', '30d': '30 days', all: 'All' }

export function RangePicker({
  range,
  onChange,
}: {
  range: Range
  onChange: (range: Range) => void
}): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="off-screen">Time range</legend>
      {RANGES.map((value) => (
        <label key={value}>
          <input
            type="radio"
            name="range"
            value={value}
            checked={range === value}
            onChange={() => onChange(value)}
          />
          <span>
            <span aria-hidden="true">{SHORT[value]}</span>
            <span class="off-screen">{RANGE_WORDS[value]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
