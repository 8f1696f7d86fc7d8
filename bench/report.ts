import { judge } from './bars.ts'
import type { Cell } from './cells.ts'
import type { Bar } from './judge.ts'
import type { GasCell } from './measure-gas.ts'
import type { Results } from './results.ts'

const HEAD = [
  '',
  'per second',
  'failed',
  'p50 ms',
  'p99 ms',
  'gas each',
  'RPC calls each',
  'CPU ms each',
  'RSS MiB',
]

/** Enough digits to compare, no more. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function cellRow(name: string, cell: Cell): string[] {
  return [
    name,
    figure(cell.perSecond),
    String(cell.failed),
    figure(cell.p50Ms),
    figure(cell.p99Ms),
    cell.gasEach === undefined ? '' : figure(cell.gasEach),
    cell.callsEach === undefined ? '' : figure(cell.callsEach),
    figure(cell.cpuMsEach),
    figure(cell.rssMiB),
  ]
}

/** Everything that was measured, as rows of one table. */
export function tableOf(results: Results): string[][] {
  const { unpaid, paid, stored, secondNetwork, overhead, prepaid, flood } = results
  const only = (name: string, perSecond: string, p50: string, p99 = '', failed = '0') => {
    return [name, perSecond, failed, p50, p99, '', '', '', '']
  }
  return [
    HEAD,
    ...Object.entries(unpaid).map(([name, cell]) => cellRow(`unpaid 402: ${name}`, cell)),
    ...Object.entries(paid).map(([name, cell]) => cellRow(`paid: ${name}`, cell)),
    ...Object.entries(secondNetwork ?? {}).map(([name, cell]: [string, Cell]) =>
      cellRow(`paid: two gateways side by side, ${name === 'one' ? 'one network' : 'two networks'}`, cell),
    ),
    cellRow('paid: 100 challenges stored before', stored.few),
    cellRow('paid: 100,000 challenges stored before', stored.many),
    only('402 with a requestId (one store write)', figure(stored.storedTermsPerSecond), ''),
    ...Object.entries(overhead).flatMap(([name, { totalP50Ms, ownP50Ms, ownP99Ms, failed }]) => [
      only(
        `one at a time, ${name}: whole purchase`,
        figure(1000 / totalP50Ms),
        figure(totalP50Ms),
        '',
        String(failed),
      ),
      only(
        `one at a time, ${name}: beside the chain`,
        '',
        figure(ownP50Ms),
        figure(ownP99Ms),
        String(failed),
      ),
    ]),
    ...prepaidRows(prepaid ?? {}),
    ...(flood
      ? [
          only(
            `flood of ${flood.requests} unpaid requests`,
            figure(flood.perSecond),
            '',
            '',
            String(flood.failed),
          ),
        ]
      : []),
  ]
}

const prepaidRows = (cells: Record<string, Cell>): string[][] =>
  Object.entries(cells).map(([name, cell]) => cellRow(`prepaid: ${name}`, cell))

/** The table of the prepaid part alone. */
export const prepaidTable = (cells: Record<string, Cell>): string[][] => [HEAD, ...prepaidRows(cells)]

/** What a payment costs on chain by each way to settle, beside the first of them. */
export function gasTable(cells: Record<string, GasCell>): string[][] {
  const [first] = Object.values(cells)
  return [
    ['', 'gas each', 'of the first', 'calldata bytes each'],
    ...Object.entries(cells).map(([name, { gasEach, bytesEach }]) => [
      name,
      figure(gasEach),
      (gasEach / first!.gasEach).toFixed(3),
      figure(bytesEach),
    ]),
  ]
}

/** For a terminal. */
export function plainTable(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const pad = (text: string, column: number) =>
    column === 0 ? text.padEnd(widths[0]!) : text.padStart(widths[column]!)
  return rows.map((row) => row.map(pad).join('  ')).join('\n')
}

export function markdownTable(rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  const [head, ...rest] = rows
  return [
    line(head!),
    line(head!.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...rest.map(line),
  ].join('\n')
}

export function barLines(bars: readonly Bar[]): string {
  return bars
    .map(({ text, measured, pass, goal }) => {
      const beyond = goal ? `; goal ${goalOf(goal)}` : ''
      return `${pass ? 'pass' : 'FAIL'}  ${text} (measured ${measured}${beyond})`
    })
    .join('\n')
}

const goalOf = ({ text, reached }: NonNullable<Bar['goal']>): string =>
  `${text}: ${reached ? 'reached' : 'missed'}`

/** What docs/benchmark.md shows of the last run, between its two marks. */
export function docsSection(results: Results): string {
  const lines = judge(results).map(
    ({ text, measured, pass, goal }) =>
      `| ${text} | ${measured} | ${pass ? 'yes' : 'no'} | ${goal ? goalOf(goal) : ''} |`,
  )
  return [
    `${results.at.slice(0, 10)}, ${results.machine}.`,
    '',
    ['| promise | measured | kept | goal |', '|---|---:|---|---|', ...lines].join('\n'),
    '',
    markdownTable(tableOf(results)),
  ].join('\n')
}
