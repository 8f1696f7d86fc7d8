import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const namesIn = (text: string, quoted: RegExp) => [...text.matchAll(quoted)].map(([, name = '']) => name)

test('docs/operations.md says of every kind of alert what to do, and of no other', () => {
  const [, kinds = ''] =
    /^export type AlertKind =\n((?: {2}\| '[^']+'\n)+)/m.exec(read('../src/ports.ts')) ?? []
  const [, table = ''] =
    /^\| kind \| what to do \|\n.*\n((?:\|.*\n)+)/m.exec(read('../docs/operations.md')) ?? []
  const documented = table.split('\n').flatMap((row) => namesIn(row.split(' | ')[0] ?? '', /`([^`]+)`/g))
  const coded = namesIn(kinds, /'([^']+)'/g)
  expect(coded).toContain('gas-wallet-empty')
  expect(documented.sort()).toEqual(coded.sort())
})
