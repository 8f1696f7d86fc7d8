import { createHash, randomUUID } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
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

/** Other processes may come between two steps, but not for ever. */
const MAX_TRIES = 100

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
  const place = join(unfinished, orderName(words))
  const id = nameAt(place, note)
  return { id, finished: () => remove(place, id) }
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

/** The name that is there, or a new one. An order is a folder, and in it a file of its name, with the note. */
function nameAt(place: string, note: unknown): string {
  const id = randomUUID()
  const draft = `${place}.${id}`
  mkdirSync(draft, { mode: 0o700 })
  try {
    const text = note === undefined ? '' : JSON.stringify(note)
    writeFileSync(join(draft, id), text, { flag: 'wx', mode: 0o600, flush: true })
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      // Where another process was first, both continue the same order: a folder is not moved over one that holds something.
      if (moveTo(place, draft)) return id
      const kept = read(place)
      if (kept) return kept.id
      removeEmpty(place)
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  throw new Error(`${place} holds something else than an order: move it away. Nothing was signed.`)
}

function moveTo(place: string, draft: string): boolean {
  try {
    renameSync(draft, place)
    return true
  } catch (error) {
    const onWindows = process.platform === 'win32' ? ['EPERM', 'EACCES'] : []
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR', ...onWindows].some((code) => hasCode(error, code))) return false
    throw error
  }
}

/** By its own name: the order of the same words that another process has begun since stays. */
function remove(place: string, id: string): void {
  try {
    const isEarlier = statSync(place).isFile()
    if (isEarlier && read(place)?.id !== id) return
    unlinkSync(isEarlier ? place : join(place, id))
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM'].some((code) => hasCode(error, code))) throw error
  }
  removeEmpty(place)
}

/** What was finished, or named nothing because an earlier version was cut off before it wrote the name. */
function removeEmpty(place: string): void {
  try {
    const found = statSync(place)
    if (found.isDirectory()) rmdirSync(place)
    else if (found.size === 0) unlinkSync(place)
  } catch {
    // Another process was faster, or has filled it.
  }
}

function read(place: string): Omit<UnfinishedOrder, 'name'> | undefined {
  try {
    const id = readdirSync(place).find((name) => !name.startsWith('.'))
    return id === undefined ? undefined : { id, note: noteOf(readFileSync(join(place, id), 'utf8')) }
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return readEarlier(place)
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Earlier versions kept an order in one file. */
function readEarlier(place: string): Omit<UnfinishedOrder, 'name'> | undefined {
  const [id = '', note] = readFileSync(place, 'utf8').split(/\n(.*)/s)
  return id === '' ? undefined : { id, note: noteOf(note) }
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
