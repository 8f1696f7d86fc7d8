import { figure } from './report.ts'
import { CASES, FLOOR, nameOf, OURS, PEER, type Results } from './results.ts'

const WIDTH = 760
const LEFT = 250
const ROW = 26
const BAR = 16

interface Bars {
  title: string
  unit: string
  rows: Array<[string, number]>
}

/** The run in one picture: bars from zero, longest first as they come, colours that hold on light and dark pages. */
export function chartOf(results: Results): string {
  const paid = (of: Parameters<typeof nameOf>[0], field: 'perSecond' | 'gasEach') =>
    results.paid[nameOf(of)]![field] ?? 0
  const charts: Bars[] = [
    {
      title: 'Unpaid requests answered with a 402',
      unit: '/s',
      rows: [
        [FLOOR, results.unpaid[FLOOR]!.perSecond],
        [OURS, results.unpaid[OURS]!.perSecond],
        [PEER, results.unpaid[PEER]!.perSecond],
      ],
    },
    {
      title: 'Payments settled, 64 buyers at once, a block per transaction',
      unit: '/s',
      rows: [
        [OURS, paid(CASES.plans, 'perSecond')],
        [`${PEER}, kindest form`, paid(CASES.kindest, 'perSecond')],
        [`${PEER}, as shipped`, paid(CASES.shipped, 'perSecond')],
      ],
    },
    {
      title: 'Gas per payment, 256 buyers at once, 2 s blocks',
      unit: ' gas',
      rows: [
        [OURS, paid(CASES.crowd, 'gasEach')],
        [PEER, paid(CASES.peerCrowd, 'gasEach')],
      ],
    },
  ]
  let top = 20
  const parts: string[] = []
  for (const { title, unit, rows } of charts) {
    const most = Math.max(...rows.map(([, value]) => value))
    parts.push(`<text x="0" y="${top}" font-weight="bold">${title}</text>`)
    rows.forEach(([name, value], index) => {
      const y = top + 12 + index * ROW
      const width = Math.max(1, ((WIDTH - LEFT - 110) * value) / most)
      const fill = name === OURS ? '#2563eb' : '#94a3b8'
      parts.push(
        `<text x="${LEFT - 8}" y="${y + 13}" text-anchor="end">${name}</text>`,
        `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${fill}"/>`,
        `<text x="${(LEFT + width + 6).toFixed(1)}" y="${y + 13}">${figure(value)}${unit}</text>`,
      )
    })
    top += 12 + rows.length * ROW + 28
  }
  const style =
    'text{font:13px system-ui,sans-serif;fill:#1e293b}@media(prefers-color-scheme:dark){text{fill:#e2e8f0}}'
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top - 16}" role="img" aria-label="Benchmark: paystile beside @x402/express"><style>${style}</style>${parts.join('')}</svg>\n`
}
