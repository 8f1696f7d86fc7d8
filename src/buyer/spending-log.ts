import { appendLine, readLines } from './append-only-file.ts'
import type { PaymentStorage } from './payment-storage.ts'
import { takeTurns } from './take-turns.ts'

/** A reservation `+ id amount`, or its release `- id`. */
const LINE = /^(?:\+ (\S+) (\d+)|- (\S+))$/

/**
 * The amounts spent, as a file that only grows, with a line per payment. All processes that share the file see the same
 * order of lines, and each grants its own reservation by the total at its line. No lock is needed.
 */
export function spendingLog(path: string): Pick<PaymentStorage, 'reserve' | 'release'> {
  const amounts = new Map<string, bigint>()
  let totalMicro = 0n
  let readTo = 0
  // They share the position up to which the file was read.
  const inTurn = takeTurns()

  /** Reads new lines; returns the total at the reservation `id`. */
  async function catchUp(id: string): Promise<bigint> {
    const { lines, next } = await readLines(path, readTo)
    readTo = next
    let there: bigint | undefined
    for (const line of lines) {
      const [, added, amount, removed] = LINE.exec(line) ?? []
      if (added !== undefined && !amounts.has(added)) {
        amounts.set(added, BigInt(amount!))
        totalMicro += BigInt(amount!)
      } else if (removed !== undefined) {
        totalMicro -= amounts.get(removed) ?? 0n
        amounts.delete(removed)
      }
      if (added === id) there = totalMicro
    }
    if (there === undefined) throw new Error(`${path} was changed by something else; nothing was signed`)
    return there
  }

  return {
    reserve: (id, amountMicro, limitMicro) =>
      inTurn(async () => {
        await appendLine(path, `+ ${id} ${amountMicro}`)
        const granted = (await catchUp(id)) <= limitMicro
        if (!granted) await appendLine(path, `- ${id}`)
        return granted
      }),
    release: (id) => inTurn(() => appendLine(path, `- ${id}`)),
  }
}
