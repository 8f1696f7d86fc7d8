import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

// Checks .dependency-cruiser.cjs against src/ and test/ of the given folder (default: this repository).
const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const baseDir = resolve(process.argv[2] ?? root)

const { cruise } = await import('dependency-cruiser')

const { enhancedResolveOptions, ...options } = require('../.dependency-cruiser.cjs').options
const folders = ['src', 'test'].filter((folder) => existsSync(join(baseDir, folder)))
const ruleSet = { forbidden: require('../.dependency-cruiser.cjs').forbidden }
const { output } = await cruise(
  folders,
  { ...options, baseDir, ruleSet, validate: true },
  enhancedResolveOptions,
)

const read = new Set(output.modules.filter((module) => module.dependencies).map((module) => module.source))
const unread = folders.flatMap(listTypeScript).filter((file) => !read.has(file))
for (const file of unread) console.log(`unread: ${file}`)

const { violations, totalCruised } = output.summary
for (const { rule, from, to } of violations) console.log(`${rule.name}: ${from} → ${to}`)
console.log(`${totalCruised} modules read, ${violations.length} violations`)
process.exitCode = violations.length + unread.length > 0 ? 1 : 0

function listTypeScript(folder) {
  return readdirSync(join(baseDir, folder), { withFileTypes: true, recursive: true })
    .map((entry) => relative(baseDir, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('test/fixtures/'))
}
