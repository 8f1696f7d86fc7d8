import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Appends a line, durably. Appending is atomic: all processes that share the file see the same order of lines. */
export async function appendLine(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'a', 0o600)
  try {
    // The leading line break ends a line that a power cut left unfinished; nobody acted on such a line.
    await file.appendFile(`\n${line}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The whole lines from this byte on, and the byte to go on from. */
export async function readLines(path: string, from: number): Promise<{ lines: string[]; next: number }> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const bytes = Buffer.alloc(Math.max(0, size - from))
    await file.read(bytes, 0, bytes.length, from)
    const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1)
    return { lines: whole.toString('utf8').split('\n'), next: from + whole.length }
  } finally {
    await file.close()
  }
}
