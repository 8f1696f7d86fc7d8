import type { Terminal } from './terminal.ts'

/** Shows that a command is still working. */
export interface Waiting {
  /** `total` undefined: it is not known. */
  at(done: number, total: number | undefined, message?: string): void
  end(): void
}

const SILENT: Waiting = { at() {}, end() {} }
const PARTS = 100

/** Shows a progress bar on standard error; nothing if that is not a terminal. */
export async function startWaiting(
  { errors }: Pick<Terminal, 'errors'>,
  json: boolean,
  message: string,
): Promise<Waiting> {
  // Without a known width the bar could not be removed again.
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
