import type { JSX } from 'preact'
import { formatCount, formatDuration, formatPercent, formatUsd } from '../shared/format.ts'
import type { Overview } from '../shared/wire.ts'

/** The main numbers. Empty boxes are shown before the first answer, so that the page does not jump. */
export function Figures({ overview }: { overview: Overview | undefined }): JSX.Element {
  const figures = overview ? figuresOf(overview) : PLACEHOLDERS
  return (
    <section aria-labelledby="figures-title" aria-busy={!overview}>
      <h2 id="figures-title" class="off-screen">
        Figures
      </h2>
      <dl class="figures">
        {figures.map(({ name, value, note, tone }) => (
          <div key={name} class="card figure">
            <dt>{name}</dt>
            <dd class="figure-value">{value}</dd>
            <dd class={`figure-note ${tone ?? ''}`}>{note}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

interface Figure {
  name: string
  value: string
  note: string
  tone?: 'warn' | 'error'
}

const PLACEHOLDERS: Figure[] = ['Revenue', 'Paid', 'Delivered', 'Refunded', 'Settlement'].map((name) => ({
  name,
  value: '–',
  note: '\u00a0',
}))

function figuresOf({ funnel, refunds, revenue, latencyMs, testnet }: Overview): Figure[] {
  const average = funnel.delivered > 0 ? Number(revenue.micro) / 1e6 / funnel.delivered : 0
  return [
    {
      name: 'Revenue',
      value: formatUsd(revenue.usd),
      note: revenue.returned
        ? `${formatUsd(revenue.returned.usd)} went back for credits`
        : funnel.delivered === 0
          ? testnet
            ? 'Test money'
            : 'USDC'
          : `${money(average)} per sale${testnet ? ', test money' : ''}`,
    },
    {
      name: 'Paid',
      value: formatCount(funnel.paid),
      note:
        funnel.challenges === 0
          ? 'No offers recorded yet'
          : `${formatPercent(funnel.paid, funnel.challenges)} of ${formatCount(funnel.challenges)} recorded offers`,
    },
    {
      name: 'Delivered',
      value: formatCount(funnel.delivered),
      note:
        funnel.paid === 0 ? 'Nothing paid yet' : `${formatPercent(funnel.delivered, funnel.paid)} of paid`,
    },
    {
      name: 'Refunded',
      value: formatCount(funnel.refunded),
      note: refundNote(refunds),
      ...(refunds.failed > 0 ? { tone: 'error' as const } : refunds.waiting > 0 && { tone: 'warn' as const }),
    },
    {
      name: 'Settlement',
      value: formatDuration(latencyMs.p50),
      note: latencyMs.samples === 0 ? 'No payments yet' : `95% within ${formatDuration(latencyMs.p95)}`,
    },
  ]
}

function refundNote({ waiting, failed }: Overview['refunds']): string {
  const parts = [waiting > 0 && `${waiting} waiting`, failed > 0 && `${failed} failed`].filter(Boolean)
  return parts.length === 0 ? 'None waiting' : parts.join(', ')
}

/** Four decimals below ten cents, but no zeros beyond cents. */
const money = (dollars: number): string =>
  `$${dollars.toFixed(dollars < 0.1 ? 4 : 2).replace(/(\.\d\d)0+$/, '$1')}`
