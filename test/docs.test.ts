import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

type Manifest = Record<'dependencies' | 'devDependencies' | 'peerDependencies', Record<string, string>>

const manifest: Manifest = JSON.parse(read('../package.json'))
const page = read('../docs/dependencies.md')

describe('docs/dependencies.md', () => {
  test.each([
    ['At run time', 'dependencies'],
    ['For development', 'devDependencies'],
    ['Optional, brought by the user', 'peerDependencies'],
  ] as const)('lists under "%s" exactly the %s of package.json', (heading, kind) => {
    expect(listedUnder(heading)).toEqual(Object.keys(manifest[kind]).sort())
  })

  test('gives every dependency a reason', () => {
    const entries = page.split('\n').filter((line) => line.startsWith('- '))
    expect(entries.filter((line) => !/^- `[^`]+`: .{20,}$/.test(line))).toEqual([])
  })
})

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function listedUnder(heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^- `([^`]+)`/gm)].map((match) => match[1] ?? '').sort()
}
