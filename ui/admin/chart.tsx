import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'

export interface ChartSeries {
  name: string
  values: number[]
  /** A custom property of the stylesheet, which differs in light and dark mode. */
  color: string
  kind: 'bars' | 'line'
}

const HEIGHT = 240
const HOUR = 3600
const STEPS = [1, 2, 3, 4, 6, 12, 24, 48, 96, 168, 336, 720, 2160].map((hours) => hours * HOUR)
const clockTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Hours within a day, days otherwise. */
function timeWords(seconds: number[]): string[] {
  const step = (seconds[1] ?? 0) - (seconds[0] ?? 0)
  return seconds.map((at) => (step < 24 * HOUR ? clockTime : day).format(new Date(at * 1000)))
}

/** Draws the chart; text and a table beside it are for those who cannot see it. */
export function Chart({
  seconds,
  series,
  format,
  onPoint,
}: {
  seconds: number[]
  series: ChartSeries[]
  format: (value: number) => string
  onPoint: (index: number | undefined) => void
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const scheme = useColorScheme()
  const drawn = JSON.stringify([seconds, series])

  useEffect(() => {
    const host = box.current
    if (!host) return
    const plot = new uPlot(
      optionsOf(host, series, format, onPoint),
      [seconds, ...series.map(({ values }) => values)],
      host,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: HEIGHT }))
    observer.observe(host)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [drawn, scheme])

  return <div class="chart" ref={box} aria-hidden="true" />
}

function optionsOf(
  host: HTMLElement,
  series: ChartSeries[],
  format: (value: number) => string,
  onPoint: (index: number | undefined) => void,
): uPlot.Options {
  const style = getComputedStyle(host)
  const color = (name: string): string => style.getPropertyValue(name).trim()
  const font = `12px ${style.fontFamily}`
  const axis = {
    stroke: color('--ink-muted'),
    font,
    ticks: { show: false },
    grid: { stroke: color('--line'), width: 1 },
  }
  return {
    width: host.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [12, 20, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: withMargin(series[0]?.values.length ?? 0) },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        space: 64,
        incrs: STEPS,
        values: (_plot, at) => timeWords(at),
      },
      { ...axis, size: 56, values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...series.map(({ name, color: variable, kind }): uPlot.Series => {
        const stroke = color(variable)
        if (kind === 'line') return { label: name, stroke, width: 2, points: { show: false } }
        const bars = uPlot.paths.bars?.({ size: [0.7, 32], radius: 0.2 })
        return {
          label: name,
          stroke,
          fill: stroke,
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        }
      }),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? undefined)] },
  }
}

/** Half a step on either side, so that the first and the last bar are complete. */
function withMargin(points: number): uPlot.Range.Function {
  return (_plot, low, high) => {
    const half = points > 1 ? (high - low) / (points - 1) / 2 : HOUR
    return [low - half, high + half]
  }
}

function useColorScheme(): boolean {
  const [dark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const follow = (): void => setDark(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return dark
}
