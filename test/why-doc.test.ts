import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ratioOf } from '../bench/ratio.ts'
import type { Results } from '../bench/results.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const { paid, unpaid }: Results = JSON.parse(read('../bench/results.json'))
const whole = (figure: number) => Math.round(figure).toLocaleString('en-US')

test('the figures of docs/why.md and README.md are those of the last benchmark', () => {
  const ours = paid['paystile, plans, embedded, 64 at once, automine']!
  const peer = paid['peer, kindest form, calls, 64 at once, automine']!
  const lessGas = `${Math.round((1 - ours.gasEach! / peer.gasEach!) * 100)}% less`
  const rows = [
    `| ${peer.perSecond.toFixed(1)} | ${whole(ours.perSecond)} | ${(ratioOf(ours, peer)).toFixed(2)}× |`,
    `| ${whole(peer.gasEach!)} | ${whole(ours.gasEach!)} | ${lessGas} |`,
    `| ${whole(unpaid['@x402/express']!.perSecond)} | ${whole(unpaid.paystile!.perSecond)} |`,
  ]
  for (const row of rows) expect(read('../docs/why.md')).toContain(row)
  const times = Math.floor(ratioOf(ours, peer) * 10) / 10
  expect(read('../README.md')).toContain(`**${times} times as much a second**`)
  expect(read('../README.md')).toContain(`**${lessGas} gas**`)
})
