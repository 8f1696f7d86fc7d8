import { addressFault } from '../config/check-wallet.ts'
import { ConfigError } from '../errors.ts'
import { microToDollars } from '../protocol/amount.ts'
import type { CreditsReport } from '../server/admin/credits-book.ts'
import type { ShownLot } from '../server/admin/credits-pages.ts'
import type { ShownClosed } from '../server/admin/show-closed.ts'
import { load } from './load.ts'
import { openBackstage } from './open-backstage.ts'
import type { OpenBackstage } from './operator-api.ts'
import type { Report, Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

interface Page {
  items: ShownLot[]
  next: string | null
  total: number
}

interface Told extends Omit<CreditsReport, 'asOf'> {
  reading?: { done: number; total: number }
}

const SHOWN = 500

/** Lists the purchases of credits that are still stored, all or those of a wallet, and the sums of all. */
export async function listCredits(
  terminal: Terminal,
  { json, wallet }: { json: boolean; wallet: string | undefined },
): Promise<Report> {
  const fault = wallet === undefined ? undefined : addressFault(wallet)
  if (fault !== undefined) throw new ConfigError([`--wallet ${fault}`])
  const backstage = await openBackstage(await load(terminal), 'look')
  try {
    const { totals, perPlan } = await untilRead(backstage, terminal, json)
    const query = new URLSearchParams({ limit: String(SHOWN), ...(wallet !== undefined && { q: wallet }) })
    const { items, total } = (await (await backstage.ask(`/credits/lots?${query}`)).json()) as Page
    const { via } = backstage
    const asked = via === 'server' ? ` (${backstage.place} was asked)` : ''
    const more =
      total > items.length
        ? [`And ${total - items.length} more: paystile export --of credits has them all.`]
        : []
    const { sold, spent, outstanding, expired, closed, lost } = totals
    const none =
      wallet !== undefined && total === 0 && sold > 0
        ? [
            'This wallet bought none that are still stored; paystile export --of credits has earlier ones too.',
          ]
        : []
    const ofAll =
      wallet === undefined ? `${sold} credits sold:` : `All wallets together: ${sold} credits sold,`
    const sums = `${ofAll} ${spent} spent, ${outstanding} outstanding, ${expired} expired, ${closed} refunded, ${lost} lost${asked}.`
    return {
      lines: [...items.map(lineOf), ...more, ...none, sold === 0 ? `No credits were sold${asked}.` : sums],
      json: { via, totals, perPlan, items, total },
    }
  } finally {
    await backstage.close()
  }
}

function lineOf({ challengeId, payer, planId, granted, spent, left, status, expiresAt }: ShownLot): string {
  const until = status === 'running' ? `until ${expiresAt}` : status
  return `${challengeId}  ${payer}  ${planId}  ${left} of ${granted} left, ${spent} spent, ${until}`
}

/** The server reads a long history in pieces, so ask until it is complete. */
async function untilRead(backstage: OpenBackstage, terminal: Terminal, json: boolean): Promise<Told> {
  const waiting = await startWaiting(terminal, json, 'Reading the books')
  try {
    for (;;) {
      const told = (await (await backstage.ask('/credits')).json()) as Told
      if (!told.reading) return told
      waiting.at(told.reading.done, told.reading.total)
    }
  } finally {
    waiting.end()
  }
}

/** Shows the credits of one purchase. */
export async function showCredits(terminal: Terminal, challengeId: string): Promise<Report> {
  const backstage = await openBackstage(await load(terminal), 'look')
  try {
    const answer = await backstage.ask(`/challenges/${encodeURIComponent(challengeId)}`)
    const { credits, refunds } = (await answer.json()) as {
      credits?: ShownLot & { unspentMicro: string; canClose: boolean }
      refunds: Array<{ credits: boolean; micro: string; phase: string; txHash: string | null }>
    }
    if (!credits) throw new Error(`${challengeId} sold no credits.`)
    const refund = refunds.find((one) => one.credits)
    const worth = microToDollars(BigInt(credits.unspentMicro))
    const paidBack = refund && `${microToDollars(BigInt(refund.micro))} goes back: ${refund.phase}`
    return {
      lines: [
        lineOf(credits),
        ...(credits.canClose ? [`    paystile credits close ${challengeId} refunds ${worth}`] : []),
        ...(refund ? [`    ${paidBack}${refund.txHash ? ` in ${refund.txHash}` : ''}`] : []),
      ],
      json: { via: backstage.via, ...credits, refund: refund ?? null },
    }
  } finally {
    await backstage.close()
  }
}

/** Ends a purchase of credits; what is unspent goes back to its payer. */
export async function closeCredits(terminal: Terminal, challengeId: string): Promise<Report> {
  const backstage = await openBackstage(await load(terminal), 'act')
  try {
    const answer = await backstage.ask(`/challenges/${encodeURIComponent(challengeId)}/close-credits`, {})
    const closed = (await answer.json()) as ShownClosed
    return { lines: [closedLine(closed, backstage)], json: { via: backstage.via, ...closed } }
  } finally {
    await backstage.close()
  }
}

function closedLine(closed: ShownClosed, { via, place }: OpenBackstage): string {
  const { challengeId, status, granted, spent, reserved, refund } = closed
  const by = via === 'server' ? `by ${place}` : 'in the store; a server does the rest when it runs'
  if (status === 'closing')
    return `${challengeId} is closing: ${reserved} credits are reserved for calls under way, and it is closed when they have ended, ${by}.`
  const left = `${granted - spent} of ${granted} credits were unspent`
  if (!refund) return `${challengeId} is closed, ${by}: ${left}, and nothing goes back.`
  const where = refund.txHash ? ` in ${refund.txHash}` : ''
  return `${challengeId} is closed, ${by}: ${left}, and ${refund.usd} goes back to ${refund.recipient} (${refund.phase}${where}).`
}
