import { stripVTControlCharacters, styleText } from 'node:util'
import type { Env } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'

/** Where a command reads and writes; tests give their own. */
export interface Terminal {
  env: Env
  input: NodeJS.ReadStream
  output: NodeJS.WriteStream
  errors: NodeJS.WriteStream
}

/** What a command has to say: as lines for people, or as one document for programs. */
export interface Report {
  lines: string[]
  json: unknown
  /** Ends the command with exit code 1. */
  failed?: boolean
}

export const processTerminal = (): Terminal => ({
  env: process.env,
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
})

/** Runs a command and tells what came of it; answers its exit code. Faults are lines, never a stack trace. */
export async function tell(
  terminal: Terminal,
  json: boolean,
  run: () => Promise<Report | undefined>,
): Promise<number> {
  let report: Report | undefined
  try {
    report = await run()
  } catch (cause) {
    const errors =
      cause instanceof ConfigError ? cause.faults : [cause instanceof Error ? cause.message : String(cause)]
    if (json) await write(terminal.output, `${JSON.stringify({ ok: false, errors })}\n`)
    else for (const line of errors) await write(terminal.errors, `${line}\n`)
    return 1
  }
  if (!report) return 0
  const text = json ? JSON.stringify(report.json, null, 2) : report.lines.join('\n')
  await write(terminal.output, `${terminal.output.isTTY ? text : stripVTControlCharacters(text)}\n`)
  return report.failed ? 1 : 0
}

/** Resolves when the text has been taken: a process that ends earlier would cut a pipe short. */
export function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((done, fail) => {
    stream.write(text, (error) => (error ? fail(error) : done()))
  })
}

const STYLES = { ok: 'green', warn: 'yellow', error: 'red' } as const

/** `error  NAME  message → mend`. */
export function findingLine(
  {
    name,
    level,
    message,
    mend,
  }: { name: string; level: keyof typeof STYLES; message: string; mend?: string },
  nameWidth: number,
): string {
  const head = `${styleText(STYLES[level], level.padEnd(5))}  ${name.padEnd(nameWidth)}`
  return `${head}  ${message}${mend === undefined ? '' : ` → ${mend}`}`
}
