import type { Mark } from './faults.ts'
import type { Sample } from './samples.ts'

const WIDTH = 760
const LEFT = 70
const PANEL = 90
const GAP = 34
/** More are not to be seen, and make the file large. */
const POINTS = 240
const COLOURS = ['#2563eb', '#d97706', '#059669']
const LANES: Record<string, string> = {
  rpc: '#a855f7',
  store: '#dc2626',
  instances: '#0891b2',
  backend: '#ca8a04',
  webhooks: '#64748b',
  clock: '#16a34a',
}

type Line = Array<[atMs: number, value: number | undefined]>

/** The run in one picture: purchases per minute, and what each instance held, over the faults that happened. */
export function drawGraph(run: {
  samples: readonly Sample[]
  marks: readonly Mark[]
  minutes: number
  seed: number
}): string {
  const { marks, minutes, seed } = run
  const samples = run.samples.filter((_, index) => index % Math.ceil(run.samples.length / POINTS) === 0)
  const from = samples[0]?.at ?? 0
  const to = samples.at(-1)?.at ?? from + 1
  const x = (at: number) => LEFT + ((WIDTH - LEFT - 10) * (at - from)) / Math.max(1, to - from)
  const held = (pick: (one: NonNullable<Sample['instances'][number]>) => number): Line[] =>
    (samples[0]?.instances ?? []).map((_, index) =>
      samples.map(({ at, instances }) => [at, instances[index] && pick(instances[index])]),
    )
  const panels: Array<[title: string, lines: Line[]]> = [
    ['purchases delivered per minute', [ratePerMinute(run.samples, samples)]],
    ['memory of each instance (RSS), MB', held(({ rssBytes }) => rssBytes / 1e6)],
    ['open handles of each instance', held(({ handles }) => handles)],
    ['disk of each instance, KB', held(({ diskBytes }) => diskBytes / 1e3)],
    ['disk of the store, MB', [samples.map(({ at, storeBytes }) => [at, storeBytes / 1e6])]],
  ]
  const parts: string[] = []
  let top = 24
  for (const [title, lines] of panels) {
    parts.push(drawPanel(title, lines, top, x))
    top += PANEL + GAP
  }
  parts.push(`<text x="0" y="${top}" font-weight="bold">faults</text>`)
  for (const [lane, colour] of Object.entries(LANES)) {
    top += 16
    parts.push(`<text x="${LEFT - 6}" y="${top + 9}" text-anchor="end">${lane}</text>`)
    const bars = marks
      .filter((one) => one.lane === lane)
      .map((one) => {
        const width = Math.max(1, x(one.to || to) - x(one.from))
        return `M${x(one.from).toFixed(1)} ${top + 5}h${width.toFixed(1)}`
      })
    parts.push(`<path d="${bars.join('')}" stroke="${colour}" stroke-width="10"/>`)
  }
  top += 32
  parts.push(`<text x="${LEFT}" y="${top}">${minutes} minutes, seed ${seed}</text>`)
  const style =
    'text{font:12px system-ui,sans-serif;fill:#1e293b}@media(prefers-color-scheme:dark){text{fill:#e2e8f0}}'
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top + 12}" role="img" aria-label="Soak: purchases, memory, handles, disk and faults over time"><style>${style}</style>${parts.join('')}</svg>\n`
}

function drawPanel(title: string, lines: Line[], top: number, x: (at: number) => number): string {
  const values = lines.flat().flatMap(([, value]) => (value === undefined ? [] : [value]))
  const most = Math.max(1, ...values)
  const y = (value: number) => top + 8 + PANEL * (1 - value / most)
  const drawn = lines.map((line, index) => {
    let pen = 'M'
    const path = line.map(([at, value]) => {
      if (value === undefined) {
        pen = 'M'
        return ''
      }
      const step = `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`
      pen = 'L'
      return step
    })
    return `<path d="${path.join('')}" fill="none" stroke="${COLOURS[index % COLOURS.length]}" stroke-width="1.2"/>`
  })
  return [
    `<text x="0" y="${top}" font-weight="bold">${title}</text>`,
    `<text x="${LEFT - 6}" y="${top + 16}" text-anchor="end">${Math.round(most)}</text>`,
    `<text x="${LEFT - 6}" y="${top + 8 + PANEL}" text-anchor="end">0</text>`,
    `<path d="M${LEFT} ${top + 8}V${top + 8 + PANEL}H${WIDTH - 10}" fill="none" stroke="#94a3b8"/>`,
    ...drawn,
  ].join('')
}

/** Over the minute around each sample that is drawn. */
function ratePerMinute(all: readonly Sample[], drawn: readonly Sample[]): Line {
  const WINDOW_MS = 30_000
  return drawn.map(({ at }) => {
    const near = all.filter((one) => Math.abs(one.at - at) <= WINDOW_MS)
    const [first, last] = [near[0]!, near.at(-1)!]
    const ms = last.at - first.at
    return [at, ms === 0 ? undefined : ((last.delivered - first.delivered) / ms) * 60_000]
  })
}
