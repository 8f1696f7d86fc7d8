import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { ConfigError } from '../errors.ts'
import { printable, printableLine } from '../protocol/printable.ts'
import { type Terminal, write } from './terminal.ts'

/** The file of `--output`. */
export interface OutputFile {
  write(body: Uint8Array): void
  /** A file that is new, and into which nothing was written, is removed. */
  close(): void
}

/** Opened before anything is paid; what is in the file stays until there is an answer. */
export function openOutput(path: string): OutputFile {
  const isNew = !existsSync(path)
  let isEmpty = isNew
  let file: number
  try {
    file = openSync(path, 'a')
  } catch (cause) {
    throw new ConfigError([`--output ${path} cannot be written: ${messageOf(cause)}. Nothing was paid.`])
  }
  return {
    write(body) {
      isEmpty = false
      if (fstatSync(file).isFile()) ftruncateSync(file)
      writeFileSync(file, body)
    },
    close() {
      closeSync(file)
      if (isEmpty) rmSync(path, { force: true })
    },
  }
}

/** Where an answer goes that was paid for. */
export interface Place {
  terminal: Terminal
  /** Of `--output`. */
  path: string | undefined
  file: OutputFile | undefined
  /** For bytes that a terminal cannot show. */
  spare: string
  json: boolean
}

/** What was paid for is never lost: if it cannot be written, the order stays open. */
export async function handOver(body: Uint8Array, place: Place): Promise<void> {
  try {
    await put(body, place)
  } catch (cause) {
    throw new ConfigError([
      `The answer was paid for and cannot be written: ${messageOf(cause)}.`,
      'Run the same command again: it does not pay twice.',
    ])
  }
}

async function put(body: Uint8Array, { terminal, path, file, spare, json }: Place): Promise<void> {
  const { output, errors } = terminal
  if (file && path !== undefined) {
    file.write(body)
    return write(errors, `${body.length} bytes are in ${printableLine(path)}\n`)
  }
  if (json) return
  if (!output.isTTY) return write(output, body)
  const text = textOf(body)
  if (text === undefined) {
    writeFileSync(spare, body, { mode: 0o600 })
    return write(errors, `${body.length} bytes, which are no text, are in ${printableLine(spare)}\n`)
  }
  // A seller's control characters would drive the terminal.
  await write(output, `${printable(text)}\n`)
}

/** An answer inside a JSON document. */
export function bodyInJson(body: Uint8Array): { body: string; encoding?: 'base64' } {
  const text = textOf(body)
  if (text !== undefined) return { body: text }
  return { body: Buffer.from(body).toString('base64'), encoding: 'base64' }
}

/** Undefined: it is not UTF-8. */
function textOf(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return undefined
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
