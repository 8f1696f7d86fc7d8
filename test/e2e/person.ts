import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Terminal } from '../../src/cli/terminal.ts'
import { eventually } from './world.ts'

/** A person at a terminal, who answers when asked. */
export function sitDown(env: Record<string, string>) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120, rows: 50 })
  let text = ''
  output.setEncoding('utf8').on('data', (chunk: string) => {
    text += stripVTControlCharacters(chunk)
  })
  const terminal = { env, input, output, errors: new PassThrough() } as unknown as Terminal
  return {
    terminal,
    seen: () => text,
    /** Waits until this is asked, or said, after all that was answered before. */
    async answer(question: string, ...keys: string[]): Promise<void> {
      await eventually(() => text.includes(question))
      text = ''
      for (const key of keys) {
        input.write(key)
        await new Promise((turn) => setImmediate(turn))
      }
    },
  }
}
