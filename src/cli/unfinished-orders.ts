import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The name of an order, which is the same until the order is finished, also after a crash. */
export interface NamedOrder {
  id: string
  finished(): void
}

/** The same words are the same order while it is unfinished: it continues, and nothing is paid twice. Later they are a new one. */
export function nameOrder(folder: string, words: ReadonlyArray<string | undefined>): NamedOrder {
  const unfinished = join(folder, 'unfinished')
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const name = createHash('sha256').update(JSON.stringify(words)).digest('hex')
  const file = join(unfinished, name)
  return { id: nameIn(file), finished: () => rmSync(file, { force: true }) }
}

function nameIn(file: string): string {
  const id = randomUUID()
  try {
    // Fails if another process was first: then both continue the same order.
    writeFileSync(file, id, { flag: 'wx', mode: 0o600, flush: true })
    return id
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return readFileSync(file, 'utf8').trim() || id
  }
}
