import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist/')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.values<{ types?: string }>(exports).flatMap(({ types }) => types ?? [])

const program = ts.createProgram(
  entries.map((types) => join(root, types)),
  {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    skipLibCheck: true,
    types: ['node'],
  },
)
const checker = program.getTypeChecker()
const resolved = (symbol: ts.Symbol) =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
const exportsOf = (file: ts.SourceFile) => {
  const module = checker.getSymbolAtLocation(file)
  return module ? checker.getExportsOfModule(module).map(resolved) : []
}
const declaredHere = ({ declarations = [] }: ts.Symbol) =>
  declarations.filter((declaration) => declaration.getSourceFile().fileName.startsWith(dist))

/** The types of ours that this declaration names. */
function namedBy(declaration: ts.Declaration): ts.Symbol[] {
  const named: ts.Symbol[] = []
  const note = (name: ts.Node) => {
    const symbol = checker.getSymbolAtLocation(name)
    if (symbol) named.push(resolved(symbol))
  }
  const visit = (node: ts.Node): void => {
    if (ts.isTypeReferenceNode(node)) note(node.typeName)
    if (ts.isExpressionWithTypeArguments(node)) note(node.expression)
    if (ts.isImportTypeNode(node) && node.qualifier) note(node.qualifier)
    ts.forEachChild(node, visit)
  }
  visit(declaration)
  return named.filter(
    (symbol) => !(symbol.flags & ts.SymbolFlags.TypeParameter) && declaredHere(symbol).length > 0,
  )
}

const files = entries.map((types) => program.getSourceFile(join(root, types))!)
const importable = new Set(files.flatMap(exportsOf))

test('every export says what it is, and functions and classes show how they are used', () => {
  const isUsed = ({ flags }: ts.Symbol) => (flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class)) !== 0
  const silent = [...importable].filter((symbol) => symbol.getDocumentationComment(checker).length === 0)
  const unshown = [...importable].filter(
    (symbol) => isUsed(symbol) && !symbol.getJsDocTags().some(({ name }) => name === 'example'),
  )
  const names = (symbols: ts.Symbol[]) => symbols.map(({ name }) => name).sort()
  expect({ silent: names(silent), unshown: names(unshown) }).toEqual({ silent: [], unshown: [] })
})

test('every type that a public signature uses can be imported', () => {
  const seen = new Set<ts.Symbol>()
  const hidden = new Set<string>()
  const follow = (symbol: ts.Symbol, usedBy: string): void => {
    if (seen.has(symbol)) return
    seen.add(symbol)
    for (const declaration of declaredHere(symbol)) {
      // One that its own file keeps to itself is a part of whatever uses it there.
      const isShared = exportsOf(declaration.getSourceFile()).includes(symbol)
      if (isShared && !importable.has(symbol)) hidden.add(`${symbol.name}, used by ${usedBy}`)
      for (const next of namedBy(declaration)) follow(next, symbol.name)
    }
  }
  for (const symbol of importable) follow(symbol, 'an entry point')
  expect(seen.size).toBeGreaterThan(100)
  expect([...hidden].sort()).toEqual([])
})
