import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The same file, whether this one runs from src/ or from dist/. */
const BUILT = fileURLToPath(new URL('../../../dist/ui/pay/pay.js', import.meta.url))

/** The script of the payment page, fit to stand in a page; undefined where the browser pages are not built. */
export function readPayBundle(file: string = BUILT): string | undefined {
  try {
    // In a script element this would end it, or begin a comment; in a text of the script it means the same with a backslash.
    return readFileSync(file, 'utf8').replace(/<(?=\/script|!--)/gi, '\\x3c')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
