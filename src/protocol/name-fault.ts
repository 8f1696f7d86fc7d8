import type { z } from 'zod'

/**
 * The first fault as "field and what is expected", without the value that was found. `within` is the path of the
 * checked value in the whole.
 */
export function nameFault(error: z.ZodError, within: readonly string[] = []): string {
  const issue = error.issues[0]!
  const field = [...within, ...issue.path].join('.') || 'the whole'
  const text = issue.message.replace(/^Invalid (input|option): /, '')
  if (text.startsWith('must ') || text.startsWith('has ')) return `${field} ${text}`
  const missing = /^(.*), received undefined$/.exec(text)
  return missing ? `${field} is missing; ${missing[1]}` : `${field}: ${text}`
}
