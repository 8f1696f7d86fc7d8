import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { type NamedOrder, nameOrder, orderName, unfinishedOrders } from '../buyer/unfinished-orders.ts'
import { lock, tryLock } from './order-lock.ts'
import { type Purchase, PurchaseSchema, sortKeys } from './purchase.ts'

const NoteSchema = z.object({ payer: z.string(), purchase: PurchaseSchema })
const SavedSchema = NoteSchema.extend({
  at: z.string(),
  result: z.looseObject({ content: z.array(z.unknown()) }),
})

/** What was paid for and has not yet reached whoever asked. */
export interface SavedAnswer {
  name: string
  purchase: Purchase
  at: string
  result: CallToolResult
}

/** The orders of one payer: what is under way, also of a process that died, and answers that wait to be fetched. */
export interface OrderBook {
  nameOf(purchase: Purchase): string
  /** The same purchase is the same order until it is finished. */
  open(purchase: Purchase): NamedOrder
  unfinished(): Array<{ name: string; id: string; purchase: Purchase }>
  answer(name: string): SavedAnswer | undefined
  answers(): SavedAnswer[]
  saveAnswer(purchase: Purchase, result: CallToolResult, at: string): void
  dropAnswer(name: string): void
  /** Writes what no message can hold into a file of its own, which stays; returns its path. */
  saveFile(id: string, bytes: Uint8Array): string
  lock(name: string, maxWaitMs: number): Promise<(() => void) | undefined>
  tryLock(name: string): (() => void) | undefined
}

export function openOrderBook(folder: string, payer: string): OrderBook {
  const wordsOf = (purchase: Purchase) => [payer.toLowerCase(), JSON.stringify(sortKeys(purchase))]
  const answersFolder = join(folder, 'answers')
  const answerFile = (name: string) => join(answersFolder, `${name}.json`)
  const lockFile = (name: string) => join(folder, 'locks', name)

  function answer(name: string): SavedAnswer | undefined {
    const saved = readSaved(answerFile(name))
    return saved?.payer === payer ? { ...saved, name, result: saved.result as CallToolResult } : undefined
  }

  return {
    nameOf: (purchase) => orderName(wordsOf(purchase)),
    open: (purchase) => nameOrder(folder, wordsOf(purchase), { payer, purchase }),
    unfinished: () =>
      unfinishedOrders(folder).flatMap(({ name, id, note }) => {
        const { data } = NoteSchema.safeParse(note)
        return data?.payer === payer ? [{ name, id, purchase: data.purchase }] : []
      }),
    answer,
    answers: () => jsonFiles(answersFolder).flatMap((name) => answer(name) ?? []),
    saveAnswer(purchase, result, at) {
      mkdirSync(answersFolder, { recursive: true, mode: 0o700 })
      const file = answerFile(orderName(wordsOf(purchase)))
      const draft = `${file}.${randomUUID()}.tmp`
      writeFileSync(draft, JSON.stringify({ payer, purchase, at, result }), { mode: 0o600, flush: true })
      renameSync(draft, file)
    },
    dropAnswer: (name) => rmSync(answerFile(name), { force: true }),
    saveFile(id, bytes) {
      const files = join(folder, 'files')
      mkdirSync(files, { recursive: true, mode: 0o700 })
      const path = join(files, `${id}.answer`)
      writeFileSync(path, bytes, { mode: 0o600, flush: true })
      return path
    },
    lock: (name, maxWaitMs) => lock(lockFile(name), maxWaitMs),
    tryLock: (name) => tryLock(lockFile(name)),
  }
}

function readSaved(file: string): z.infer<typeof SavedSchema> | undefined {
  try {
    return SavedSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

function jsonFiles(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((file) => /^([0-9a-f]{64})\.json$/.exec(file)?.[1] ?? [])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
