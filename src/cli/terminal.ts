import { stripVTControlCharacters, styleText } from 'node:util'
import type { Env } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { printable, printableLine } from '../protocol/printable.ts'

/** Where a command reads and writes; tests pass their own. */
export interface Terminal {
  env: Env
  input: NodeJS.ReadStream
  output: NodeJS.WriteStream
  errors: NodeJS.WriteStream
}

/** What a command writes: lines for people, or one JSON document for programs. */
export interface Report {
  lines: Line[]
  json: unknown
  /** Ends the command with exit code 1. */
  failed?: boolean
  /** Called once all of it is written. */
  written?(): void
}

/** A level is shown as a coloured word before the text. Control characters in the text are made harmless. */
export type Line = string | { level: Level; text: string }

export const processTerminal = (): Terminal => ({
  env: process.env,
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
})

/** Runs a command, writes its report and returns its exit code. Faults are written as lines, never as a stack trace. */
export async function tell(
  terminal: Terminal,
  json: boolean,
  run: () => Promise<Report | undefined>,
): Promise<number> {
  let report: Report | undefined
  try {
    report = await run()
  } catch (cause) {
    const errors = faultsOf(cause)
    if (json) await write(terminal.output, `${printable(JSON.stringify({ ok: false, errors }))}\n`)
    else for (const line of errors) await write(terminal.errors, `${printable(line)}\n`)
    return 1
  }
  if (!report) return 0
  try {
    await writeReport(terminal.output, json, report)
  } catch (cause) {
    for (const line of faultsOf(cause)) await write(terminal.errors, `cannot write: ${printable(line)}\n`)
    return 1
  }
  report.written?.()
  return report.failed ? 1 : 0
}

async function writeReport(output: NodeJS.WriteStream, json: boolean, report: Report): Promise<void> {
  if (!json && report.lines.length === 0) return
  const text = json ? printable(JSON.stringify(report.json, null, 2)) : report.lines.map(shown).join('\n')
  await write(output, `${output.isTTY ? text : stripVTControlCharacters(text)}\n`)
}

/** What an error says, as lines: every fault of a configuration, or the message. */
export function faultsOf(cause: unknown): readonly string[] {
  if (cause instanceof ConfigError) return cause.faults
  return [cause instanceof Error ? cause.message : String(cause)]
}

/** Resolves when the stream has taken the text: a process that ends earlier would cut a pipe short. */
export function write(stream: NodeJS.WritableStream, text: string | Uint8Array): Promise<void> {
  return new Promise((done, fail) => {
    stream.write(text, (error) => (error ? fail(error) : done()))
  })
}

const STYLES = { ok: 'green', warn: 'yellow', error: 'red' } as const
type Level = keyof typeof STYLES

function shown(line: Line): string {
  if (typeof line === 'string') return printableLine(line)
  return `${styleText(STYLES[line.level], line.level.padEnd(5))}  ${printableLine(line.text)}`
}

/** `error  NAME  message → how to fix it`. */
export function findingLine(
  { name, level, message, fix }: { name: string; level: Level; message: string; fix?: string },
  nameWidth: number,
): Line {
  const end = fix === undefined ? '' : ` → ${fix}`
  return { level, text: `${name.padEnd(nameWidth)}  ${message}${end}` }
}
