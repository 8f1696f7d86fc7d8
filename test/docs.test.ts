import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { PREFLIGHT_HEADERS, undeliveredHeaders } from '../src/transports/http/headers.ts'
import { RESOURCE_ID_HEADER } from '../src/transports/http/read-spender.ts'

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

const PAGES = ['../README.md', ...pagesIn('../docs/')]

test.each(PAGES)('what %s shows as JSON is JSON, to be pasted as it stands', (name) => {
  for (const [, text = ''] of read(name).matchAll(/^```json\n([\s\S]*?)^```/gm))
    expect(() => JSON.parse(text), text).not.toThrow()
})

test('the entries of the bridge for assistants differ in nothing but their place and form', () => {
  const blocks = [...read('../docs/bridge.md').matchAll(/^```json\n([\s\S]*?)^```/gm)]
  const entries = blocks.flatMap(([, text = '']) => {
    const { mcpServers, servers } = JSON.parse(text) as Record<string, Record<string, Entry>>
    return Object.values(mcpServers ?? servers ?? {})
  })
  expect(entries).toHaveLength(2)
  for (const { command, args } of entries) {
    expect(command).toBe('npx')
    expect(args.slice(0, 8)).toEqual([
      ...['-y', 'paystile', 'bridge', 'https://api.example.com'],
      ...['--max-amount', '$0.05', '--max-total', '$2.00'],
    ])
  }
})

test('the CORS settings of docs/embedding.md let through all that the gateway itself allows and exposes', () => {
  const page = read('../docs/embedding.md')
  const listed = (option: string) =>
    [...(new RegExp(`${option}: \\[([^\\]]*)\\]`).exec(page)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(
      ([, name = '']) => name,
    )
  const own = (header: keyof typeof PREFLIGHT_HEADERS) => PREFLIGHT_HEADERS[header].split(', ')
  // MCP and A2A are the gateway's own endpoints, and pages may always send Accept.
  const allowed = own('access-control-allow-headers').filter(
    (name) => !/^(mcp-|last-event-id|(x-)?a2a-|accept$)/i.test(name),
  )
  expect(listed('allowedHeaders')).toEqual(expect.arrayContaining([...allowed, RESOURCE_ID_HEADER]))
  expect(listed('exposedHeaders')).toEqual(
    expect.arrayContaining([
      ...own('access-control-expose-headers'),
      ...Object.keys(undeliveredHeaders({ refund: { state: 'SCHEDULED', when: '' }, statusUrl: '' })),
      ...['x-svc-credits-charged', 'x-svc-credits-remaining'],
    ]),
  )
})

interface Entry {
  command: string
  args: string[]
}

function pagesIn(folder: string): string[] {
  const names = readdirSync(new URL(folder, import.meta.url))
  return names.filter((name) => name.endsWith('.md')).map((name) => folder + name)
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function listedUnder(heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^- `([^`]+)`/gm)].map((match) => match[1] ?? '').sort()
}
