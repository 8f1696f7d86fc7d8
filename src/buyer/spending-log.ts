import { appendLine, readLines } from './append-only-file.ts'
import type { PaymentStorage } from './payment-storage.ts'
import { METERED_PREFIX } from './reservations.ts'
import { takeTurns } from './take-turns.ts'

/** A reservation `+ id amount`, what was charged of it `= id amount`, or its release `- id`. */
const LINE = /^(?:\+ (\S+) (\d+)|= (\S+) (\d+)|- (\S+))$/

type SpendingLog = Required<Pick<PaymentStorage, 'reserve' | 'release' | 'charge' | 'uncharged'>>

/**
 * The amounts spent, as a file that only grows, with a line per payment. All processes that share the file see the same
 * order of lines, and each grants its own reservation by the total at its line. No lock is needed.
 */
export function spendingLog(path: string): SpendingLog {
  const amounts = new Map<string, bigint>()
  const uncharged = new Set<string>()
  let totalMicro = 0n
  let readTo = 0
  // They share the position up to which the file was read.
  const inTurn = takeTurns()

  function apply(line: string): string | undefined {
    const [, added, amount, charged, lowered, removed] = LINE.exec(line) ?? []
    if (added !== undefined && !amounts.has(added)) {
      amounts.set(added, BigInt(amount!))
      totalMicro += BigInt(amount!)
      if (added.startsWith(METERED_PREFIX)) uncharged.add(added)
    } else if (charged !== undefined && uncharged.delete(charged)) {
      const held = amounts.get(charged)!
      // What was signed is never passed, so that a charge can lower the total only.
      const counted = BigInt(lowered!) < held ? BigInt(lowered!) : held
      amounts.set(charged, counted)
      totalMicro -= held - counted
    } else if (removed !== undefined) {
      totalMicro -= amounts.get(removed) ?? 0n
      amounts.delete(removed)
      uncharged.delete(removed)
    }
    return added
  }

  /** Reads new lines; returns the total at the reservation `id`. */
  async function catchUp(id?: string): Promise<bigint | undefined> {
    const { lines, next } = await readLines(path, readTo)
    readTo = next
    let there: bigint | undefined
    for (const line of lines) if (apply(line) === id && id !== undefined) there = totalMicro
    return there
  }

  async function totalAt(id: string): Promise<bigint> {
    const there = await catchUp(id)
    if (there === undefined) throw new Error(`${path} was changed by something else; nothing was signed`)
    return there
  }

  return {
    reserve: (id, amountMicro, limitMicro) =>
      inTurn(async () => {
        await appendLine(path, `+ ${id} ${amountMicro}`)
        const granted = (await totalAt(id)) <= limitMicro
        if (!granted) await appendLine(path, `- ${id}`)
        return granted
      }),
    release: (id) => inTurn(() => appendLine(path, `- ${id}`)),
    charge: (id, amountMicro) => inTurn(() => appendLine(path, `= ${id} ${amountMicro}`)),
    uncharged: () =>
      inTurn(async () => {
        try {
          await catchUp()
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        }
        return [...uncharged].map((id) => ({ id, amountMicro: amounts.get(id)! }))
      }),
  }
}
