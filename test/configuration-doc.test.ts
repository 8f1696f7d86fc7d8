import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { VARIABLES } from '../src/config/from-env.ts'
import { OPTION_NAMES } from '../src/config/options.ts'
import { SERVER_VARIABLES } from '../src/config/server-variables.ts'

const text = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8')
const rows = text.split('\n').flatMap((line) => {
  const match = /^\| +(?:`([A-Z0-9_]+)`|–) +\| +(?:`([A-Za-z0-9]+)`|–) +\|/.exec(line)
  return match ? [{ variable: match[1], option: match[2] }] : []
})

test('docs/configuration.md names exactly the variables that are read, with their options', () => {
  const documented = rows.filter((row) => row.variable)
  const coded = Object.entries(VARIABLES).map(([variable, { option }]) => ({ variable, option }))
  const byName = (a: { variable?: string }, b: { variable?: string }) => (a.variable! < b.variable! ? -1 : 1)
  expect(documented.sort(byName)).toEqual(coded.sort(byName))
})

test('docs/configuration.md names every option', () => {
  for (const option of OPTION_NAMES) expect(text, option).toMatch(new RegExp(`\`${option}[\`(]`))
})

test("docs/configuration.md names exactly the server's own variables, and which of them can be saved", () => {
  const documented = [...text.matchAll(/^\| `([A-Z0-9_]+)` \| (yes|no) \|/gm)].map(([, name, saved]) => [
    name,
    { saved: saved === 'yes' },
  ])
  expect(Object.fromEntries(documented)).toEqual(SERVER_VARIABLES)
})
