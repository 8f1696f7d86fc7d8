import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERROR_CODES } from '../src/protocol/error-codes.ts'

const row = (code: string, entry: (typeof ERROR_CODES)[keyof typeof ERROR_CODES]): string =>
  `| ${entry.httpStatus} | \`${code}\` | ${entry.when} | ${entry.fix} | ${entry.retryable ? 'yes' : 'no'} | \`${entry.a2a.state}\` \`${entry.a2a.code}\` | ${entry.mcp} |`

test('docs/errors.md and the table in the code are the same', () => {
  const text = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
  const documented = text.split('\n').filter((line) => /^\| \d{3} \| `/.test(line))
  const coded = Object.entries(ERROR_CODES).map(([code, entry]) => row(code, entry))
  expect(documented).toEqual(coded)
})
