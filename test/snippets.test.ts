import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
/** What handlers of each framework know of their parameters. */
const TYPED_HANDLERS = join(root, 'test/types/frameworks.ts')

/** A piece of TypeScript that readers may copy, as a file. */
interface Snippet {
  /** Named after the document. */
  file: string
  /** Where it begins in the document, counted from 0. */
  line: number
  text: string
}

const lineOf = (text: string, index: number) => text.slice(0, index).split('\n').length - 1
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const filesBelow = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))

function inPage(path: string): Snippet[] {
  const page = read(path)
  return [...page.matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```/gm)].map(({ index, 1: text = '' }, at) => ({
    file: `${path}.${at + 1}.ts`,
    line: lineOf(page, index) + 1,
    text,
  }))
}

const gateway = `declare const gateway: import('paystile').Gateway`
/** What examples of these files may take for given; a page has it all. */
const GIVEN: Record<string, string> = {
  'src/gateway-api.ts': gateway,
}
const APPS = {
  express: `${gateway}; declare const app: import('express').Express`,
  hono: `${gateway}; declare const app: import('hono').Hono`,
  fastify: `${gateway}; declare const app: import('fastify').FastifyInstance`,
}
const givenIn = (path: string): string => {
  const framework = /^src\/frameworks\/(express|hono|fastify)/.exec(path)?.[1] as
    | keyof typeof APPS
    | undefined
  return framework ? APPS[framework] : (GIVEN[path] ?? '')
}

/** An example in a doc comment sees what its own file exports, as its reader does, and must import all else. */
function inSource(path: string): Snippet[] {
  const source = read(path)
  const exported = [
    ...source.matchAll(/^export (?:async |abstract )*(?:function\*?|const|class|interface|type) (\w+)/gm),
  ].map(([, name = '']) => name)
  const comments = [...source.matchAll(/\/\*\*[\s\S]*?\*\//g)]
  const examples = comments.flatMap((comment) =>
    [...comment[0].matchAll(/@example *\n([\s\S]*?)(?=^ *\* @|\*\/)/gm)].map((found) => ({
      index: comment.index + found.index,
      text: (found[1] ?? '').replace(/^ *\* ?/gm, ''),
    })),
  )
  const built = (file: string) => `'${join(root, file.replace(/^src/, 'dist').replace(/\.ts$/, '.js'))}'`
  return examples.map(({ index, text }, at) => {
    const own = exported.filter((name) => !new RegExp(`^import .*\\b${name}\\b`, 'm').test(text))
    // The first line is ours, and takes the place of the line that says @example.
    const given = `import { ${own.join(', ')} } from ${built(path)}; ${givenIn(path)}`
    const imports = text.replace(/(?<= from )'(\.[^']*)'/g, (_, file) => built(join(dirname(path), file)))
    return {
      file: path.replace(/\.ts$/, `.example-${at + 1}.ts`),
      line: lineOf(source, index),
      text: `${given}\n${imports}`,
    }
  })
}

/** Writes them below a folder of their own, compiles all at once, and says of each fault where its reader finds it. */
function compile(snippets: Snippet[]): string[] {
  // In this package, so that its name is found as from a shop that has installed it.
  const folder = mkdtempSync(join(root, '.snippets-'))
  try {
    for (const { file, text } of snippets) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    const paths = [...snippets.map(({ file }) => join(folder, file)), TYPED_HANDLERS]
    const config = { extends: '../test/types/tsconfig.json', files: paths, include: [] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
    const options = ['-p', folder, '--pretty', 'false', '--listFiles', '--singleThreaded']
    const { stdout } = spawnSync(process.execPath, [tsc, ...options], { cwd: folder, encoding: 'utf8' })
    const lines = stdout.split('\n')
    for (const path of paths) expect(lines, 'a file that is not compiled has no faults').toContain(path)
    const starts = new Map(snippets.map(({ file, line }) => [file, line]))
    return lines.flatMap((line) => {
      const [, file = '', at, fault] = /^(.+?)\((\d+),\d+\): error (.*)$/.exec(line) ?? []
      if (fault === undefined) return /error TS/.test(line) ? [line] : []
      return [`${file}, line ${Number(at) + (starts.get(file) ?? 0)}: ${fault}`]
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('every TypeScript snippet compiles as strictly as users may have it, and handlers keep their types', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...filesBelow('docs', '.md'),
    ...filesBelow('examples', '.md'),
  ]
  const sources = filesBelow('src', '.ts').filter((path) => !path.endsWith('.test.ts'))
  const snippets = [...pages.flatMap(inPage), ...sources.flatMap(inSource)]
  expect(snippets.length).toBeGreaterThan(30)
  expect(compile(snippets)).toEqual([])
}, 180_000)
