import type { Terminal } from './terminal.ts'

/** Tells a person that something takes its time. */
export interface Waiting {
  /** `total` undefined: nobody knows how much there is. */
  at(done: number, total: number | undefined, message?: string): void
  end(): void
}

const SILENT: Waiting = { at() {}, end() {} }
const PARTS = 100

/** A bar on the terminal's error stream; nothing at all where that is no terminal. */
export async function startWaiting(
  { errors }: Pick<Terminal, 'errors'>,
  json: boolean,
  message: string,
): Promise<Waiting> {
  // A terminal that does not know its width cannot take a line back.
  if (!errors.isTTY || !errors.columns || json) return SILENT
  const { progress } = await import('@clack/prompts')
  const bar = progress({ output: errors, max: PARTS, withGuide: false })
  let shown = 0
  bar.start(message)
  return {
    at(done, total, what = message) {
      if (total === undefined) return bar.message(`${what}: ${done}`)
      const reached = Math.floor((PARTS * done) / Math.max(1, total))
      if (reached > shown) bar.advance(reached - shown, `${what}: ${done} of ${total}`)
      shown = Math.max(shown, reached)
    },
    end: () => bar.clear(),
  }
}
