import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** The name of an order, which is the same until the order is finished, also after a crash. */
export interface NamedOrder {
  id: string
  finished(): void
}

/** An order that was named and not finished, with what was noted about it. */
export interface UnfinishedOrder {
  id: string
  /** Of its words: {@link orderName}. */
  name: string
  note: unknown
}

type Words = ReadonlyArray<string | undefined>

/** The same words have the same name. */
export function orderName(words: Words): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex')
}

/**
 * The same words are the same order while it is unfinished: it continues, and nothing is paid twice. Later they are a
 * new one. The note, any JSON, is for whoever finds the order unfinished.
 */
export function nameOrder(folder: string, words: Words, note?: unknown): NamedOrder {
  const unfinished = folderOf(folder)
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const file = join(unfinished, orderName(words))
  return { id: nameIn(file, note), finished: () => rmSync(file, { force: true }) }
}

/** All orders that are not finished. */
export function unfinishedOrders(folder: string): UnfinishedOrder[] {
  let names: string[] = []
  try {
    names = readdirSync(folderOf(folder))
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
  return names.flatMap((name) => {
    const kept = /^[0-9a-f]{64}$/.test(name) ? read(join(folderOf(folder), name)) : undefined
    return kept ? [{ name, ...kept }] : []
  })
}

const folderOf = (folder: string): string => join(folder, 'unfinished')

function nameIn(file: string, note: unknown): string {
  const id = randomUUID()
  const draft = `${file}.${id}`
  const text = note === undefined ? id : `${id}\n${JSON.stringify(note)}`
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true })
    // Fails if another process was first: then both continue the same order. The file is never there without its name.
    linkSync(draft, file)
    return id
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    const kept = read(file)
    if (kept) return kept.id
  } finally {
    rmSync(draft, { force: true })
  }
  // It was finished meanwhile, or an earlier version was cut off before it wrote the name: nothing was signed then.
  if (existsSync(file) && statSync(file).size === 0) rmSync(file, { force: true })
  return nameIn(file, note)
}

function read(file: string): Omit<UnfinishedOrder, 'name'> | undefined {
  try {
    const [id = '', note] = readFileSync(file, 'utf8').split(/\n(.*)/s)
    return id === '' ? undefined : { id, note: noteOf(note) }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Without its note an order still continues: the same words find its name. */
function noteOf(text: string | undefined): unknown {
  try {
    return text ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
