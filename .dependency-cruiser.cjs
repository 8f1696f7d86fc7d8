// All that gateway.ts and its helpers put together.
const wired = [
  'backstage.ts',
  'protocol',
  'errors.ts',
  'ports.ts',
  'rules',
  'engine',
  'settlement',
  'stores',
  'delivery',
  'transports',
  'config',
]

// What each part of src/ may import of ours. A part is a folder, or a file if its name ends in .ts.
const mayImport = {
  protocol: [],
  'errors.ts': ['protocol'],
  'facts.ts': ['protocol'],
  'ports.ts': ['protocol', 'facts.ts'],
  rules: ['protocol', 'errors.ts', 'facts.ts'],
  engine: ['protocol', 'errors.ts', 'ports.ts', 'rules'],
  'exchange.ts': [],
  settlement: ['protocol', 'errors.ts', 'ports.ts', 'rules', 'exchange.ts'],
  stores: ['protocol', 'errors.ts', 'ports.ts', 'rules'],
  delivery: ['protocol', 'errors.ts', 'ports.ts', 'rules', 'exchange.ts'],
  transports: ['protocol', 'errors.ts', 'rules', 'engine'],
  config: ['protocol', 'errors.ts', 'ports.ts', 'rules'],
  'backstage.ts': ['protocol', 'ports.ts', 'engine', 'settlement'],
  wiring: wired,
  'gateway.ts': ['wiring', ...wired],
  frameworks: ['gateway.ts', 'transports', 'protocol'],
  checks: [
    'protocol',
    'errors.ts',
    'ports.ts',
    'rules',
    'config',
    'settlement',
    'stores',
    'delivery',
    'gateway.ts',
  ],
  server: [
    'backstage.ts',
    'checks',
    'ports.ts',
    'protocol',
    'gateway.ts',
    'frameworks',
    'config',
    'stores',
    'transports',
    'errors.ts',
  ],
  reconcile: ['protocol', 'errors.ts', 'ports.ts', 'rules', 'settlement', 'backstage.ts'],
  buyer: ['protocol', 'errors.ts'],
  testing: ['protocol', 'errors.ts', 'ports.ts'],
  cli: [
    'gateway.ts',
    'server',
    'checks',
    'reconcile',
    'stores',
    'config',
    'buyer',
    'testing',
    'protocol',
    'errors.ts',
  ],
  'index.ts': [
    'protocol',
    'errors.ts',
    'ports.ts',
    'rules',
    'engine',
    'settlement',
    'stores',
    'delivery',
    'transports',
    'config',
    'gateway.ts',
    'frameworks',
    'server',
    'buyer',
  ],
}

const inPart = (part) => (part.endsWith('.ts') ? `^src/${part.replace('.', '\\.')}$` : `^src/${part}/`)
const ours = '^(src|test|bench|examples|scripts|ui)/'
const unitTest = '\\.test\\.ts$'

const tableRules = Object.entries(mayImport).map(([part, allowed]) => ({
  name: `table-${part.replace('.ts', '')}`,
  comment: `${part} may import ${allowed.join(', ') || 'nothing of ours'}.`,
  severity: 'error',
  from: { path: inPart(part), pathNot: unitTest },
  to: { path: ours, pathNot: [part, ...allowed].map(inPart) },
}))

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...tableRules,
    {
      name: 'outside-table',
      comment: 'Every file in src/ belongs to a part of the table above.',
      severity: 'error',
      from: { path: '^src/', pathNot: [...Object.keys(mayImport).map(inPart), '^src/[^/]+\\.test\\.ts$'] },
      to: {},
    },
    {
      name: 'pure-rules',
      comment: 'Rules are functions of their arguments: of the outside they may use hashes and types only.',
      severity: 'error',
      from: { path: '^src/rules/', pathNot: unitTest },
      to: { pathNot: [ours, '^(node:)?crypto$'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pure-engine',
      comment: 'The engine reaches the world through ports: of npm and Node it may use types only.',
      severity: 'error',
      from: { path: '^src/engine/', pathNot: unitTest },
      to: { pathNot: ours, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pure-without-zod',
      comment: 'Wire shapes are defined in protocol/; rules and engine import them from there.',
      severity: 'error',
      from: { path: '^src/(rules|engine)/', pathNot: unitTest },
      to: { path: '(^|/)zod(/|$)' },
    },
    {
      name: 'no-circular',
      comment: 'No import cycles, types included.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that leads nowhere would escape every other rule.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^[.]', couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^dist/'] },
    exclude: { path: '^test/fixtures/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'node', 'default', 'require'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
}
