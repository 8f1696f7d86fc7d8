import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { ensureBuilt, ensureInstalled, root, runMain } from './prepare.mjs'

// Writes docs/api.txt: what each entry of the package exports, with signatures and without comments, read off dist's
// declarations. With --print it goes to standard output instead, as the test wants it.
const REPORT = join(root, 'docs/api.txt')
const dist = join(root, 'dist/')
const MAX_BLOCK_LENGTH = 90
const MAX_LITERAL_LINES = 40
const { name: packageName, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.entries(exports).filter(([, { types }]) => types)
const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true })

await runMain(async () => {
  if (process.argv.includes('--print')) return void process.stdout.write(report())
  await ensureInstalled()
  await ensureBuilt()
  writeFileSync(REPORT, report())
  console.log('docs/api.txt is up to date.')
})

function report() {
  const files = entries.map(([, { types }]) => join(root, types))
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    skipLibCheck: true,
    types: ['node'],
  })
  const checker = program.getTypeChecker()
  const resolved = (symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  /** Where a declaration was printed first. */
  const printedIn = new Map()

  const sections = entries.map(([path], index) => {
    const entry = packageName + path.slice(1)
    const file = program.getSourceFile(files[index])
    const named = checker
      .getExportsOfModule(checker.getSymbolAtLocation(file))
      .map((symbol) => ({ name: symbol.name, symbol: resolved(symbol) }))
    const exported = new Set(named.map(({ symbol }) => symbol))
    const parts = named.sort(byName).map(({ name, symbol }) => {
      if (name === 'default') return `default: ${symbol.name}`
      const first = printedIn.get(symbol)
      if (first !== undefined) return `${name}: ${first}`
      printedIn.set(symbol, `as in ${entry}`)
      return show(symbol, name)
    })
    const hidden = hiddenBehind(exported).map((symbol) => `(not exported) ${show(symbol, symbol.name)}`)
    return [`# ${entry}`, ...[...parts, ...hidden, ...augmentations(file, new Set())].map(compact)].join(
      '\n\n',
    )
  })
  return `${sections.join('\n\n\n')}\n`

  function show(symbol, name) {
    return ownDeclarations(symbol)
      .map((declaration) => shown(declaration, symbol, name))
      .join('\n')
  }

  function shown(declaration, symbol, name) {
    if (ts.isTypeAliasDeclaration(declaration) && /\bz\.|\btypeof /.test(declaration.type.getText())) {
      return `type ${name} = ${spelledOut(checker.getDeclaredTypeOfSymbol(symbol))}`
    }
    const isVariable = ts.isVariableDeclaration(declaration)
    const text = printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile())
    return `${isVariable ? 'const ' : ''}${text.replace(/^export (default )?/, '').replace(/^declare /, '')}`
  }

  /** A type that is inferred from a schema or a value is shown as what it comes to. */
  function spelledOut(type) {
    const flags =
      ts.NodeBuilderFlags.NoTruncation |
      ts.NodeBuilderFlags.InTypeAlias |
      ts.NodeBuilderFlags.MultilineObjectLiterals |
      ts.NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope
    const node = checker.typeToTypeNode(type, undefined, flags)
    const text = printer.printNode(ts.EmitHint.Unspecified, node, program.getSourceFile(files[0]))
    // The compiler lists the words of a union in the order in which it met them anywhere in the program.
    return text.replace(/"[^"]*"(?: \| "[^"]*")+/g, (words) => words.split(' | ').sort().join(' | '))
  }

  /** What an exported signature uses that its file keeps to itself. */
  function hiddenBehind(exported) {
    const found = new Set()
    const follow = (symbol) => {
      for (const declaration of ownDeclarations(symbol)) visit(declaration)
    }
    const visit = (node) => {
      const name = ts.isTypeReferenceNode(node)
        ? node.typeName
        : ts.isExpressionWithTypeArguments(node)
          ? node.expression
          : undefined
      const symbol = name && checker.getSymbolAtLocation(name)
      if (symbol && isHidden(resolved(symbol)) && !found.has(resolved(symbol))) {
        found.add(resolved(symbol))
        follow(resolved(symbol))
      }
      ts.forEachChild(node, visit)
    }
    for (const symbol of exported) follow(symbol)
    const fresh = [...found].filter((symbol) => !printedIn.has(symbol)).sort(byName)
    for (const symbol of fresh) printedIn.set(symbol, '')
    return fresh
  }

  function isHidden(symbol) {
    if (symbol.flags & ts.SymbolFlags.TypeParameter) return false
    return ownDeclarations(symbol).some((declaration) => {
      const module = checker.getSymbolAtLocation(declaration.getSourceFile())
      return !checker.getExportsOfModule(module).map(resolved).includes(symbol)
    })
  }

  /** What importing an entry adds to the types of others: Express's request, Fastify's instance. */
  function augmentations(file, seen) {
    if (seen.has(file)) return []
    seen.add(file)
    return file.statements.flatMap((statement) => {
      if (ts.isModuleDeclaration(statement))
        return [printer.printNode(ts.EmitHint.Unspecified, statement, file).replace(/^declare /, 'adds to ')]
      const from = statement.moduleSpecifier?.text
      if (!from?.startsWith('./')) return []
      const next = program.getSourceFile(join(dirname(file.fileName), from.replace(/\.[jt]s$/, '.d.ts')))
      return next ? augmentations(next, seen) : []
    })
  }
}

function ownDeclarations({ declarations = [] }) {
  return declarations.filter((declaration) => declaration.getSourceFile().fileName.startsWith(dist))
}

/** By code unit, which is the same order on every machine; `default`, a second name, comes last. */
function byName(one, other) {
  const [a, b] = [one, other].map(({ name }) => (name === 'default' ? '~' : name))
  return a < b ? -1 : a > b ? 1 : 0
}

/** Short braces and brackets on one line; of a long literal only that it changed. */
function compact(declaration) {
  let text = declaration.replace(/;$/gm, '').replace(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
  for (let before = ''; before !== text; ) {
    before = text
    text = text
      .replace(/\{\n([^{}]*)\n *\}/g, (block, inside) => onOneLine(block, inside, /\n\s*/g, '; ', '{ ', ' }'))
      .replace(/\[\n([^[\]]*)\n *\]/g, (block, inside) => onOneLine(block, inside, /\n\s*/g, ' ', '[', ']'))
  }
  const lines = text.split('\n').length
  if (!text.startsWith('const ') || lines < MAX_LITERAL_LINES) return text
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return `${text.slice(0, text.indexOf(':'))}: a literal type of ${lines} lines, sha256 ${digest}…`
}

function onOneLine(block, inside, breaks, separator, open, close) {
  const line = open + inside.trim().replace(breaks, separator) + close
  return line.length <= MAX_BLOCK_LENGTH ? line : block
}
