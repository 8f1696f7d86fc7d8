import { spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { runCli } from '../../src/cli/run-cli.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

export interface Ran {
  code: number
  output: string
  errors: string
}

/** One command line inside this process, on streams that are no terminal. */
export async function cli(env: Record<string, string>, ...argv: string[]): Promise<Ran> {
  const streams = [new PassThrough(), new PassThrough()] as const
  const texts = streams.map((stream) => {
    const chunks: string[] = []
    stream.setEncoding('utf8').on('data', (chunk: string) => void chunks.push(chunk))
    return chunks
  })
  const [output, errors] = streams
  const terminal = { env, input: new PassThrough(), output, errors } as unknown as Terminal
  const code = await runCli(terminal, argv)
  return { code, output: texts[0]!.join(''), errors: texts[1]!.join('') }
}

/** The same as a process of its own. */
export function cliProcess(env: Record<string, string>, ...argv: string[]): Promise<Ran> {
  return run(env, process.execPath, SERVER_PROGRAM, ...argv)
}

/**
 * The same where no file can get longer than a few kilobytes. As on a full disk, the write that reaches the limit writes a part
 * and says so by its count alone; only the next one fails.
 */
export function cliOnFullDisk(env: Record<string, string>, ...argv: string[]): Promise<Ran> {
  return run(env, 'sh', '-c', 'ulimit -f 8; exec "$@"', 'sh', process.execPath, SERVER_PROGRAM, ...argv)
}

async function run(env: Record<string, string>, program: string, ...argv: string[]): Promise<Ran> {
  const child = spawn(program, argv, {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const code = await new Promise<number | null>((ended) => child.once('close', ended))
  return { code: code ?? -1, output, errors }
}
