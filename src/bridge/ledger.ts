import { z } from 'zod'
import { appendLine, readLines } from '../buyer/append-only-file.ts'
import { METERED_PREFIX, readReservation } from '../buyer/reservations.ts'
import { takeTurns } from '../buyer/take-turns.ts'
import { UintString } from '../protocol/amount.ts'

const At = z.iso.datetime()
const LineSchema = z.discriminatedUnion('event', [
  /** Written before the payment is signed: from here on it counts. */
  z.object({
    event: z.literal('signed'),
    at: At,
    id: z.string(),
    amountMicro: UintString,
    payer: z.string(),
    host: z.string(),
    for: z.string(),
  }),
  z.object({
    event: z.literal('paid'),
    at: At,
    id: z.string(),
    network: z.string(),
    transaction: z.string().optional(),
  }),
  /** What a metered call cost, of the maximum that was signed. */
  z.object({ event: z.literal('charged'), at: At, id: z.string(), amountMicro: UintString }),
  /** It never moved, and never can. */
  z.object({ event: z.literal('unused'), at: At, id: z.string() }),
])
type Line = z.infer<typeof LineSchema>

/** A payment in the ledger. `signed`: it may still be charged, or was and nobody said so. */
export interface LedgerEntry {
  id: string
  at: string
  /** Of a metered call the maximum, until its charge is known. */
  amountMicro: bigint
  payer: string
  host: string
  for: string
  state: 'signed' | 'paid' | 'unused'
  network?: string
  transaction?: string
  /** The charge of a metered call is known. */
  charged?: true
}

export type NewPayment = Pick<LedgerEntry, 'id' | 'amountMicro' | 'payer' | 'host' | 'for'>

export interface Ledger {
  /** Counts a payment before it is signed. False, and nothing is counted, if the day's total would exceed the limit. */
  reserve(payment: NewPayment, limitMicro: bigint): Promise<boolean>
  paid(id: string, receipt: { network: string; transaction?: string | undefined }): Promise<void>
  /** Lowers the payment of a metered call to what it cost. */
  charged(id: string, amountMicro: bigint): Promise<void>
  /** The payments of metered calls that still count by their maximum, oldest first. */
  uncharged(): Promise<Array<{ id: string; amountMicro: bigint }>>
  /** Takes a payment back: it was not signed, or expired unused. */
  unused(id: string): Promise<void>
  /** What counts against the limit of the present day. */
  spentTodayMicro(): Promise<bigint>
  entries(): Promise<LedgerEntry[]>
}

/** How long before midnight a payment may be signed that is charged after it: its validity, and room for clocks. */
const CARRIED_OVER_MS = 300_000

/**
 * What was spent, as JSON lines in a file that only grows. All processes that share the file see the same order of
 * lines, and each grants its own payment by the total at its line, so that together they never exceed the limit.
 */
export function openLedger(path: string, now: () => number = Date.now): Ledger {
  const entries = new Map<string, LedgerEntry>()
  let readTo = 0
  // They share the position up to which the file was read.
  const inTurn = takeTurns()
  const append = (line: Line) => appendLine(path, JSON.stringify(line))
  const at = () => new Date(now()).toISOString()

  /** Reads new lines; returns the day's total at the payment `id`. */
  async function catchUp(id?: string): Promise<bigint | undefined> {
    const { lines, next } = await readLines(path, readTo).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return { lines: [], next: 0 }
      throw error
    })
    readTo = next
    let there: bigint | undefined
    for (const text of lines) {
      const line = parse(text)
      if (line) apply(entries, line)
      if (line?.event === 'signed' && line.id === id) there = total()
    }
    return there
  }

  const total = (): bigint => {
    const nowMs = now()
    return [...entries.values()]
      .filter((entry) => countsAt(entry, nowMs))
      .reduce((sum, { amountMicro }) => sum + amountMicro, 0n)
  }

  return {
    reserve: ({ amountMicro, ...payment }, limitMicro) =>
      inTurn(async () => {
        await append({ event: 'signed', at: at(), amountMicro: String(amountMicro), ...payment })
        const there = await catchUp(payment.id)
        if (there === undefined)
          throw new Error(
            `${path} was changed by something else; nothing was signed. Start the bridge again.`,
          )
        if (there <= limitMicro) return true
        await append({ event: 'unused', at: at(), id: payment.id })
        return false
      }),
    paid: (id, { network, transaction }) =>
      inTurn(() => append({ event: 'paid', at: at(), id, network, ...(transaction && { transaction }) })),
    charged: (id, amountMicro) =>
      inTurn(() => append({ event: 'charged', at: at(), id, amountMicro: String(amountMicro) })),
    uncharged: () =>
      inTurn(async () => {
        await catchUp()
        return [...entries.values()].filter(
          ({ id, state, charged }) => id.startsWith(METERED_PREFIX) && state !== 'unused' && !charged,
        )
      }),
    unused: (id) => inTurn(() => append({ event: 'unused', at: at(), id })),
    spentTodayMicro: () =>
      inTurn(async () => {
        await catchUp()
        return total()
      }),
    entries: () =>
      inTurn(async () => {
        await catchUp()
        return [...entries.values()]
      }),
  }
}

/** Does a payment count on the day of this moment (UTC)? One that could be charged after midnight counts on both days. */
export function countsAt(
  { id, at, state }: Pick<LedgerEntry, 'id' | 'at' | 'state'>,
  nowMs: number,
): boolean {
  const dayStartMs = Date.parse(`${new Date(nowMs).toISOString().slice(0, 10)}T00:00:00Z`)
  if (state === 'unused') return false
  // Metered calls are valid for longer, and their names say until when.
  const untilMs = Number(readReservation(id)?.validBefore ?? 0) * 1000
  return Date.parse(at) >= dayStartMs - CARRIED_OVER_MS || untilMs >= dayStartMs
}

/** A line that a power cut left unfinished is skipped: nobody acted on it. */
function parse(text: string): Line | undefined {
  try {
    return LineSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function apply(entries: Map<string, LedgerEntry>, line: Line): void {
  if (line.event === 'signed') {
    const { event: state, amountMicro, ...rest } = line
    // What was refused may be granted later, under the same name.
    const known = entries.get(line.id)
    if (!known || known.state === 'unused')
      entries.set(line.id, { ...rest, amountMicro: BigInt(amountMicro), state })
    return
  }
  const entry = entries.get(line.id)
  if (!entry) return
  if (line.event === 'charged') {
    entry.amountMicro = BigInt(line.amountMicro)
    entry.charged = true
    return
  }
  entry.state = line.event
  if (line.event === 'unused') return
  entry.network = line.network
  if (line.transaction !== undefined) entry.transaction = line.transaction
}
