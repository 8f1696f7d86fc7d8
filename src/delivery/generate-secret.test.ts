import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { readOrGenerateSecret } from './generate-secret.ts'
import { parseSecretKeys } from './secret-keys.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-secret-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('readOrGenerateSecret', () => {
  test('generates a usable secret once and keeps it', () => {
    const dataDir = join(folder, 'deep', 'data')
    const secret = readOrGenerateSecret(dataDir)
    expect(readOrGenerateSecret(dataDir)).toBe(secret)
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect(parseSecretKeys(secret).ids).toHaveLength(1)
    expect(readdirSync(dataDir)).toEqual(['secret-key'])
  })

  test('only its owner may read it', () => {
    readOrGenerateSecret(folder)
    expect(statSync(join(folder, 'secret-key')).mode & 0o777).toBe(0o600)
  })

  test('a secret that the operator put there is used', () => {
    writeFileSync(join(folder, 'secret-key'), `${'k'.repeat(40)}\n`)
    expect(readOrGenerateSecret(folder)).toBe('k'.repeat(40))
  })

  test('a damaged file is refused and never replaced', () => {
    const file = join(folder, 'secret-key')
    writeFileSync(file, 'half')
    expect(() => readOrGenerateSecret(folder)).toThrow(ConfigError)
    expect(() => readOrGenerateSecret(folder)).toThrow('has 4 characters')
    expect(readFileSync(file, 'utf8')).toBe('half')
  })

  test('a data folder that is a file, and a secret that is a folder, are reported in one line', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => readOrGenerateSecret(join(folder, 'file'))).toThrow(ConfigError)
    mkdirSync(join(folder, 'odd', 'secret-key'), { recursive: true })
    expect(() => readOrGenerateSecret(join(folder, 'odd'))).toThrow('cannot be read (EISDIR)')
  })

  test('processes that start together agree on one secret', async () => {
    const source = new URL('./generate-secret.ts', import.meta.url).pathname
    const script = join(folder, 'start.mjs')
    // Node 20 cannot run TypeScript, so the race is run with the same files compiled.
    const { transpileModule, ModuleKind, ScriptTarget } = (await import('typescript')).default
    for (const name of [
      'delivery/generate-secret',
      'delivery/secret-keys',
      'delivery/pem-blocks',
      'delivery/receipt-keys',
      'errors',
      'sync-folder',
      'protocol/error-codes',
    ]) {
      const text = readFileSync(join(source, '../..', `${name}.ts`), 'utf8')
      const { outputText } = transpileModule(text, {
        compilerOptions: {
          module: ModuleKind.ESNext,
          target: ScriptTarget.ES2022,
          rewriteRelativeImportExtensions: true,
        },
      })
      mkdirSync(join(folder, 'src', name, '..'), { recursive: true })
      writeFileSync(join(folder, 'src', `${name}.js`), outputText)
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(
      script,
      `import { readOrGenerateSecret } from './src/delivery/generate-secret.js'
       const startMs = Number(process.argv[3])
       while (Date.now() < startMs);
       process.stdout.write(readOrGenerateSecret(process.argv[2]))`,
    )
    const dataDir = join(folder, 'raced')
    const startMs = Date.now() + 1500
    const runs = await Promise.all(
      Array.from({ length: 6 }, () => promisify(execFile)(process.execPath, [script, dataDir, `${startMs}`])),
    )
    expect(new Set(runs.map(({ stdout }) => stdout)).size).toBe(1)
    expect(readdirSync(dataDir)).toEqual(['secret-key'])
  })
})
