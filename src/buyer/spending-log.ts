import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { PaymentStorage } from './payment-storage.ts'

/** A reservation `+ id amount`, or its release `- id`. */
const LINE = /^(?:\+ (\S+) (\d+)|- (\S+))$/

/**
 * The amounts spent, as a file that only grows, with a line per payment. Appending is atomic, so all processes that
 * share the file see the same order of lines, and each grants its own reservation by the total at its line. No lock
 * is needed.
 */
export function spendingLog(path: string): Pick<PaymentStorage, 'reserve' | 'release'> {
  const amounts = new Map<string, bigint>()
  let totalMicro = 0n
  let readTo = 0
  let turn: Promise<unknown> = Promise.resolve()

  async function append(line: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(path, 'a', 0o600)
    try {
      // The leading line break ends a line that a power cut left unfinished; such a payment was never sent.
      await file.appendFile(`\n${line}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Reads new lines; returns the total at the reservation `id`. */
  async function catchUp(id: string): Promise<bigint> {
    const file = await open(path, 'r')
    let text: string
    try {
      const { size } = await file.stat()
      const bytes = Buffer.alloc(Math.max(0, size - readTo))
      await file.read(bytes, 0, bytes.length, readTo)
      const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1)
      readTo += whole.length
      text = whole.toString('utf8')
    } finally {
      await file.close()
    }
    let there: bigint | undefined
    for (const line of text.split('\n')) {
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

  /** Runs one after the other, because they share the position up to which the file was read. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work)
    turn = done.catch(() => {})
    return done
  }

  return {
    reserve: (id, amountMicro, limitMicro) =>
      inTurn(async () => {
        await append(`+ ${id} ${amountMicro}`)
        const granted = (await catchUp(id)) <= limitMicro
        if (!granted) await append(`- ${id}`)
        return granted
      }),
    release: (id) => inTurn(() => append(`- ${id}`)),
  }
}
