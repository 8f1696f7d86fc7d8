import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A piece of TypeScript that readers may copy, as a file that stands where it was found. */
interface Snippet {
  /** Beside the document, so that imports are found as they are from there. */
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
  const built = (file: string) => {
    const found = relative(dirname(path), file.replace(/^src/, 'dist').replace(/\.ts$/, '.js'))
    return `'${found}'`
  }
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

function compile(snippets: Snippet[]): string[] {
  const virtual = new Map(snippets.map((snippet) => [join(root, snippet.file), snippet]))
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'test/types/tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (fault) => {
        throw new Error(String(fault.messageText))
      },
    },
  )!
  const host = ts.createCompilerHost(config.options)
  const { readFile, fileExists, getSourceFile } = host
  host.fileExists = (file) => virtual.has(file) || fileExists(file)
  host.readFile = (file) => virtual.get(file)?.text ?? readFile(file)
  host.getSourceFile = (file, version, ...rest) => {
    const snippet = virtual.get(file)
    return snippet ? ts.createSourceFile(file, snippet.text, version) : getSourceFile(file, version, ...rest)
  }
  const program = ts.createProgram([...virtual.keys(), ...config.fileNames], config.options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const offset = file ? (virtual.get(file.fileName)?.line ?? 0) : 0
    const line = file ? file.getLineAndCharacterOfPosition(start).line + offset + 1 : 0
    return `${relative(root, file?.fileName ?? '')}, line ${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
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
