import type { ChallengeStatus } from '../protocol/access.ts'
import type { ShownSale } from '../server/admin/sale.ts'
import { load } from './load.ts'
import { openBackstage } from './open-backstage.ts'
import type { OpenBackstage } from './operator-api.ts'
import type { Report, Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

type Item = ShownSale & {
  reason: string | null
  attempts: number
  since: string
  surplus: boolean
  failed?: boolean
  credits?: boolean
}

interface NamedNetwork {
  network: string
  name: string
}

/** What is used here of the overview. */
interface Told {
  reading?: { done: number; total: number }
  networks?: NamedNetwork[]
}

/** Lists every payment that should be refunded and has not been yet. */
export async function listRefunds(terminal: Terminal, json: boolean): Promise<Report> {
  const backstage = await openBackstage(await load(terminal), 'look')
  try {
    const networks = await untilRead(backstage, terminal, json)
    const { items } = (await (await backstage.ask('/refunds')).json()) as { items: Item[] }
    const { via } = backstage
    const asked = via === 'server' ? ` (${backstage.place} was asked)` : ''
    if (items.length === 0) return { lines: [`No refund waits${asked}.`], json: { via, items } }
    const failed = items.filter(({ failed }) => failed).length
    const count = items.length === 1 ? '1 refund waits' : `${items.length} refunds wait`
    return {
      lines: [
        ...items.flatMap((item) => linesOf(item, networks)),
        `${count}, ${failed} of them for you${asked}.`,
      ],
      json: { via, items },
    }
  } finally {
    await backstage.close()
  }
}

function linesOf(item: Item, networks: readonly NamedNetwork[]): string[] {
  const { challengeId, state, usd, payer, attempts, since, reason, surplus, credits } = item
  const ofCredits = credits ? 'unspent credits of ' : ''
  const what = surplus ? 'a second payment' : `${ofCredits}${item.kind} ${item.itemId}`
  const name = networks.find(({ network }) => network === item.network)?.name
  const where = networks.length > 0 ? ` on ${name ?? item.network}` : ''
  const tries = attempts === 0 ? '' : `, ${attempts} ${attempts === 1 ? 'try' : 'tries'}`
  return [
    `${challengeId}  ${state}  ${usd} to ${payer ?? 'nobody yet'}${where} for ${what}, since ${since}${tries}`,
    ...(reason === null ? [] : [`    ${reason}`]),
    ...(item.failed ? [`    → paystile refunds retry ${challengeId}`] : []),
  ]
}

/**
 * The server reads a long history in pieces, so ask until it is complete. Returns the networks that are sold on, if
 * there are several.
 */
async function untilRead(
  backstage: OpenBackstage,
  terminal: Terminal,
  json: boolean,
): Promise<readonly NamedNetwork[]> {
  const waiting = await startWaiting(terminal, json, 'Reading the books')
  try {
    for (;;) {
      const answer = await backstage.ask('/overview?range=24h')
      const { reading, networks = [] } = (await answer.json()) as Told
      if (!reading) return networks
      waiting.at(reading.done, reading.total)
    }
  } finally {
    waiting.end()
  }
}

/** Tries a failed refund again. */
export function retryRefund(terminal: Terminal, challengeId: string): Promise<Report> {
  return act(terminal, challengeId, 'retry-refund', {}, 'is tried again')
}

/** Marks a refund as paid by the operator; the chain must confirm the transaction. */
export function resolveRefund(terminal: Terminal, challengeId: string, txHash: string): Promise<Report> {
  return act(terminal, challengeId, 'resolve-refund', { txHash }, 'is settled')
}

async function act(
  terminal: Terminal,
  challengeId: string,
  action: string,
  body: object,
  done: string,
): Promise<Report> {
  const backstage = await openBackstage(await load(terminal), 'act')
  try {
    const answer = await backstage.ask(`/challenges/${encodeURIComponent(challengeId)}/${action}`, body)
    const status = (await answer.json()) as ChallengeStatus
    const by =
      backstage.via === 'server'
        ? `by ${backstage.place}`
        : 'in the store; a server does the rest when it runs'
    const line = `The refund of ${challengeId} ${done}, ${by}. It is ${status.state} now.`
    return { lines: [line], json: { via: backstage.via, ...status } }
  } finally {
    await backstage.close()
  }
}
