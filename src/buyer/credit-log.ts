import { appendLine, readLines } from './append-only-file.ts'

/** Lines that only grow. Whoever shares the storage sees them in the same order; that order decides who buys. */
export interface CreditLog {
  /** Durably. */
  append(line: string): Promise<void>
  /** What was appended from this position on (0: all of it), and the position to go on from. */
  read(from: number): Promise<{ lines: string[]; next: number }>
}

/** The oldest lines are dropped beyond `maxLines`: by then their readers have read them. */
export function memoryCreditLog(maxLines = 10_000): CreditLog {
  const lines: string[] = []
  let dropped = 0
  return {
    async append(line) {
      lines.push(line)
      if (lines.length <= maxLines) return
      lines.shift()
      dropped++
    },
    async read(from) {
      return { lines: lines.slice(Math.max(0, from - dropped)), next: dropped + lines.length }
    },
  }
}

/** The file holds tokens, so only its owner may read it. */
export function fileCreditLog(path: string): CreditLog {
  return {
    append: (line) => appendLine(path, line),
    async read(from) {
      try {
        return await readLines(path, from)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { lines: [], next: 0 }
        throw error
      }
    },
  }
}
