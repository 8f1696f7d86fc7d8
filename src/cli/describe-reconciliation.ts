import type { Network } from '../protocol/network.ts'
import type { Discrepancy } from '../reconcile/discrepancy.ts'
import type { Reconciliation } from '../reconcile/reconcile.ts'
import type { OpenBackstage } from './operator-api.ts'
import { findingLine, type Report } from './terminal.ts'

/** What came of one network; `unreadable`: why its chain could not be asked. */
export type Compared =
  | { network: Network; result: Reconciliation }
  | { network: Network; unreadable: string; rpcName: string }

type Finding = Parameters<typeof findingLine>[0]
type Place = Pick<OpenBackstage, 'via' | 'place'>

export function describeOne(result: Reconciliation, { via, place }: Place): Report {
  const { foreignNetworks: _foreignNetworks, ...told } = result
  const findings = result.found.map((one) => findingOf(one))
  const left = result.foreign > 0 ? [`${challengesOf(result.foreign)} of other networks left out`] : []
  return {
    lines: [...linesOf(findings), summaryOf(result, place, left), verdictOf(findings)],
    json: { ok: !hasErrors(findings), via, ...told },
    failed: hasErrors(findings),
  }
}

/** A line per finding, a line per network, one verdict. */
export function describeSeveral(compared: readonly Compared[], { via, place }: Place): Report {
  const findings = compared.flatMap((one): Finding[] => {
    if ('result' in one) return one.result.found.map((found) => findingOf(found, one.network))
    const message = `${one.network.name}: nothing was compared: ${one.unreadable}`
    const fix = `See that ${one.rpcName} is a node that answers, and look again.`
    return [{ name: 'chain-unreadable', level: 'error', message, fix }]
  })
  const summaries = compared.map((one) =>
    'result' in one ? summaryOf(one.result, place, []) : `${one.network.id}, not compared`,
  )
  const unknown = notConfigured(compared)
  return {
    lines: [...linesOf(findings), ...summaries, ...unknown, verdictOf(findings)],
    json: {
      ok: !hasErrors(findings),
      via,
      networks: compared.map((one) => {
        if (!('result' in one)) return { network: one.network.id, unreadable: one.unreadable }
        const { foreign: _foreign, foreignNetworks: _foreignNetworks, ...told } = one.result
        return told
      }),
    },
    failed: hasErrors(findings),
  }
}

/** Challenges of networks that are no longer configured: nothing compares them. */
function notConfigured(compared: readonly Compared[]): string[] {
  const first = compared.find((one) => 'result' in one)
  if (!first) return []
  return Object.entries(first.result.foreignNetworks)
    .filter(([id]) => compared.every(({ network }) => network.id !== id))
    .map(([id, count]) => `${id}, not configured · ${challengesOf(count)} left out`)
}

function findingOf(
  { kind, level, challengeId, txHash, message, fix }: Discrepancy,
  network?: Network,
): Finding {
  const where = [challengeId, txHash].filter((id) => id !== null).join(' ')
  return { name: kind, level, message: `${network ? `${network.name}: ` : ''}${where}: ${message}`, fix }
}

function linesOf(findings: readonly Finding[]): Report['lines'] {
  const width = Math.max(0, ...findings.map(({ name }) => name.length))
  return findings.map((finding) => findingLine(finding, width))
}

function summaryOf(result: Reconciliation, place: string, more: readonly string[]): string {
  const { network, fromBlock, toBlock, challenges, movements, refundsWaiting, credits } = result
  return [
    `${network}, blocks ${fromBlock} to ${toBlock}`,
    `${challenges} paid ${challenges === 1 ? 'challenge' : 'challenges'} of ${place}`,
    `${movements.incoming} ${movements.incoming === 1 ? 'transfer' : 'transfers'} in, ${movements.outgoing} out`,
    ...(refundsWaiting > 0
      ? [refundsWaiting === 1 ? '1 refund on its way' : `${refundsWaiting} refunds on their way`]
      : []),
    ...(credits ? [`${credits.sold} credits sold, ${credits.spent} spent`] : []),
    ...more,
  ].join(' · ')
}

const challengesOf = (count: number): string => `${count} ${count === 1 ? 'challenge' : 'challenges'}`

const hasErrors = (findings: readonly Finding[]): boolean => findings.some(({ level }) => level === 'error')

function verdictOf(findings: readonly Finding[]): string {
  const errors = findings.filter(({ level }) => level === 'error').length
  if (errors === 0) return 'Chain and ledger agree.'
  return `${errors} ${errors === 1 ? 'thing does' : 'things do'} not agree.`
}
