import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatCount, formatMicro, formatTime, formatUsd } from '../shared/format.ts'
import type { Overview, Range, SeriesPoint } from '../shared/wire.ts'
import { Chart, type ChartSeries } from './chart.tsx'
import { RANGE_WORDS } from './range-picker.tsx'

const LINES = [
  { key: 'challenges', name: 'Recorded offers', color: '--ink-faint' },
  { key: 'paid', name: 'Paid', color: '--accent' },
  { key: 'delivered', name: 'Delivered', color: '--ok' },
  { key: 'refunded', name: 'Refunded', color: '--warn' },
] as const

type View = 'revenue' | 'sales'

/** Revenue or sales over time, with the same numbers as a table. */
export function Trends({ overview, range }: { overview: Overview | undefined; range: Range }): JSX.Element {
  const [view, setView] = useState<View>('revenue')
  const [index, setIndex] = useState<number>()
  const points = overview?.series ?? []
  const series = view === 'revenue' ? revenueOf(points) : salesOf(points)
  const format = view === 'revenue' ? shortUsd : formatCount
  const point = index === undefined ? undefined : points[index]
  const isEmpty = overview !== undefined && series.every(({ values }) => values.every((value) => value === 0))
  return (
    <section class="card trends" aria-labelledby="trends-title">
      <div class="card-head">
        <h2 id="trends-title">{view === 'revenue' ? 'Revenue' : 'Sales'} over time</h2>
        <fieldset class="segments small">
          <legend class="off-screen">Show</legend>
          {(['revenue', 'sales'] as const).map((value) => (
            <label key={value}>
              <input type="radio" name="view" checked={view === value} onChange={() => setView(value)} />
              <span>{value === 'revenue' ? 'Revenue' : 'Sales'}</span>
            </label>
          ))}
        </fieldset>
      </div>
      <p class="chart-readout" aria-hidden="true">
        {point ? readout(point, view) : view === 'sales' ? <Legend /> : RANGE_WORDS[range]}
      </p>
      <figure>
        <div class="chart-frame">
          {overview && (
            <Chart
              seconds={points.map(({ at }) => new Date(at).getTime() / 1000)}
              series={series}
              format={format}
              onPoint={setIndex}
            />
          )}
          {isEmpty && <p class="chart-empty">No {view === 'revenue' ? 'sales' : 'offers'} in this time</p>}
        </div>
        <figcaption class="off-screen">{overview ? summaryOf(overview, range) : ''}</figcaption>
      </figure>
      <details class="more">
        <summary>Show as a table</summary>
        <SeriesTable points={points} />
      </details>
    </section>
  )
}

const revenueOf = (points: SeriesPoint[]): ChartSeries[] => [
  {
    name: 'Revenue',
    values: points.map(({ micro }) => Number(micro) / 1e6),
    color: '--accent',
    kind: 'bars',
  },
]

const salesOf = (points: SeriesPoint[]): ChartSeries[] =>
  LINES.map(({ key, name, color }) => ({
    name,
    color,
    kind: 'line',
    values: points.map((point) => point[key]),
  }))

function shortUsd(dollars: number): string {
  if (dollars >= 1000) return `$${(dollars / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })}k`
  const minimumFractionDigits = dollars > 0 && dollars < 1 ? 2 : 0
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits, maximumFractionDigits: dollars < 1 ? 3 : 2 })}`
}

function readout(point: SeriesPoint, view: View): JSX.Element {
  const text =
    view === 'revenue'
      ? formatMicro(point.micro)
      : LINES.map(({ key, name }) => `${name} ${formatCount(point[key])}`).join(' · ')
  return (
    <>
      {formatTime(point.at)} <strong>{text}</strong>
    </>
  )
}

function Legend(): JSX.Element {
  return (
    <span class="legend">
      {LINES.map(({ key, name }) => (
        <span key={key} class={`legend-${key}`}>
          {name}
        </span>
      ))}
    </span>
  )
}

function summaryOf({ series, revenue, funnel }: Overview, range: Range): string {
  const best = series.reduce<SeriesPoint | undefined>(
    (top, point) => (top && BigInt(top.micro) >= BigInt(point.micro) ? top : point),
    undefined,
  )
  const peak =
    best && best.micro !== '0' ? ` The most, ${formatMicro(best.micro)}, came at ${formatTime(best.at)}.` : ''
  return `${RANGE_WORDS[range]}: ${formatUsd(revenue.usd)} from ${formatCount(funnel.delivered)} deliveries.${peak} The table below has every number.`
}

function SeriesTable({ points }: { points: SeriesPoint[] }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
    <section class="table-scroll" tabIndex={0} aria-label="Table over time">
      <table class="plain-table">
        <caption class="off-screen">Revenue and sales over time</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {LINES.map(({ key, name }) => (
              <th key={key} scope="col" class="number">
                {name}
              </th>
            ))}
            <th scope="col" class="number">
              Revenue
            </th>
          </tr>
        </thead>
        <tbody>
          {[...points].reverse().map((point) => (
            <tr key={point.at}>
              <th scope="row">{formatTime(point.at)}</th>
              {LINES.map(({ key }) => (
                <td key={key} class="number">
                  {formatCount(point[key])}
                </td>
              ))}
              <td class="number">{formatMicro(point.micro)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
