import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const maxLines = 350
/** What a framework needs of its own; all else is shared. */
const maxAdapterLines = 80
/** All that people read and edit as code, styles included. */
const codeFolders = ['src', 'test', 'ui', 'bench', 'scripts', 'examples']
const codeFiles = /\.(ts|tsx|js|mjs|css|lua)$/

// Written so that no pattern matches its own source.
const impure = /\b(Date\.now|Math\.random|setTimeout|setInterval|setImmediate|fetch)\(|\bnew Date\(\)/
const unfinished = /\b(TO[D]O|FIX[M]E)\b/
const partial = /\.(skip|only)\(/

describe('what the repository refuses', () => {
  test('engine and rules take time and randomness through ports only', () => {
    expect([...linesMatching('src/engine', impure), ...linesMatching('src/rules', impure)]).toEqual([])
  })

  test(`no file of code has more than ${maxLines} lines`, () => {
    const files = codeFolders.flatMap((folder) => filesIn(folder, codeFiles))
    expect(files.flatMap((file) => tooLong(file, read(file)))).toEqual([])
  })

  test(`no adapter of a framework has more than ${maxAdapterLines} lines`, () => {
    const adapters = filesIn('src/frameworks', /^(express|hono|fastify)(-[a-z]+)*\.ts$/)
    expect(adapters.length).toBeGreaterThan(6)
    expect(adapters.flatMap((file) => tooLong(file, read(file), maxAdapterLines))).toEqual([])
  })

  test('nothing is typed any', () => {
    const untyped = sources().flatMap((file) => anyLines(read(file)).map((line) => `${file}:${line}`))
    expect(untyped).toEqual([])
  })

  test('nothing is left unfinished', () => {
    expect(['src', 'test'].flatMap((folder) => linesMatching(folder, unfinished))).toEqual([])
  })

  test('no test is left out', () => {
    expect(['src', 'test'].flatMap((folder) => linesMatching(folder, partial))).toEqual([])
  })
})

describe('the checks themselves', () => {
  test.each([
    'Date.now()',
    'Math.random()',
    'setTimeout(f, 1)',
    'setInterval(f, 1)',
    'new Date()',
    'await fetch(url)',
  ])('%s is impure', (code) => {
    expect(code).toMatch(impure)
  })

  test.each(['new Date(nowMs)', 'clock.now()', 'gateway.prefetch(x)', 'const updated = 1'])(
    '%s is pure',
    (code) => {
      expect(code).not.toMatch(impure)
    },
  )

  test.each(['let x: any', 'f(x as any)', 'type X = Array<any>', 'const f = (...all: any[]) => all'])(
    '%s is typed any',
    (code) => {
      expect(anyLines(code)).toEqual([1])
    },
  )

  test('the word any in prose or a name is no type', () => {
    expect(anyLines('// found: any use pays\nconst any = 1; export { any }')).toEqual([])
  })

  test('a marker of unfinished work and a test left out are seen', () => {
    expect(`// ${'TO'}${'DO'}: later`).toMatch(unfinished)
    expect(`test.${'skip'}('x')`).toMatch(partial)
    expect(`describe.${'only'}('x')`).toMatch(partial)
  })

  test(`of a file of more than ${maxLines} lines it is said how long it is and what to do`, () => {
    expect(tooLong('a.css', 'x\n'.repeat(maxLines))).toEqual([])
    expect(tooLong('a.css', 'x\n'.repeat(maxLines + 1))).toEqual([
      'a.css has 351 lines, 350 are allowed: split it by topic',
    ])
  })

  test('every folder that is searched holds files', () => {
    for (const folder of ['src', 'test']) expect(typeScriptIn(folder)).not.toEqual([])
    for (const folder of codeFolders) expect(filesIn(folder, codeFiles), folder).not.toEqual([])
    expect(filesIn('ui', /\.css$/)).not.toEqual([])
  })
})

function sources(): string[] {
  return [...typeScriptIn('src'), ...typeScriptIn('test')]
}

function typeScriptIn(folder: string): string[] {
  return filesIn(folder, /\.ts$/)
}

function filesIn(folder: string, names: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => names.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name))
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function tooLong(file: string, text: string, most = maxLines): string[] {
  const lines = text.trimEnd().split('\n').length
  return lines > most ? [`${file} has ${lines} lines, ${most} are allowed: split it by topic`] : []
}

function linesMatching(folder: string, pattern: RegExp): string[] {
  return typeScriptIn(folder).flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  )
}

function anyLines(code: string): number[] {
  if (!/\bany\b/.test(code)) return []
  const file = ts.createSourceFile('code.ts', code, ts.ScriptTarget.Latest)
  const lines: number[] = []
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) {
      lines.push(file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return lines
}
