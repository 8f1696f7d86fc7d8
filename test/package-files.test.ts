import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packedPackage } from './e2e/installed-package.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries: string[] = Object.keys(manifest.exports).filter((name) => name !== './package.json')
const run = promisify(execFile)

describe('the package that npm packs', () => {
  let folder: string
  let files: string[]
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'paystile-pack-'))
    const packed = await packedPackage(folder)
    const { stdout } = await run('tar', ['-tzf', packed])
    files = stdout.split('\n').flatMap((path) => (path.startsWith('package/') ? [path.slice(8)] : []))
    await run('tar', ['-xzf', packed, '-C', folder])
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('has the programs, their types, the pages, the documentation and the examples, and nothing else', () => {
    const known = [
      /^dist\/.*(\.js|\.d\.ts|\.json|\.sql|\.lua|\.wasm)$/,
      /^dist\/ui\/.*\.(html|js|css|svg)$/,
      /^docs\/([a-z0-9-]+\.(md|svg)|api\.txt)$/,
      /^examples\/([a-z]+\/)?([a-z]+\.js|README\.md)$/,
      /^contracts\/(PaystileSettler\.sol|settler-input\.json)$/,
      /^deploy\/[a-z]+\/[a-z-]+\.(yaml|json|conf)$/,
      /^(package\.json|README\.md|CHANGELOG\.md|THIRD-PARTY-NOTICES\.md|LICENSE)$/,
    ]
    expect(files.filter((file) => !known.some((pattern) => pattern.test(file)))).toEqual([])
    expect(files.filter((file) => /\.test\.|tsbuildinfo|\.map$/.test(file))).toEqual([])
    const needed = ['dist/ui/admin.html', 'dist/chain/curve.wasm', 'dist/sandbox/run-sandbox.js']
    expect(files).toEqual(expect.arrayContaining(needed))
  })

  test('is built before it is packed, also in a clean checkout', () => {
    expect(manifest.scripts.prepack).toBe(manifest.scripts.build)
  })

  test('says nothing of files that it does not have', () => {
    const scripts = files.filter((file) => file.endsWith('.js') && !file.startsWith('dist/ui/'))
    const texts = scripts.map((file) => readFileSync(join(folder, 'package', file), 'utf8'))
    expect(scripts.filter((_, index) => texts[index]?.includes('sourceMappingURL='))).toEqual([])
  })

  test('every link of the documentation leads to something in it', () => {
    const pages = files.filter((file) => /^docs\/.*\.md$/.test(file))
    const broken = pages.flatMap((page) => {
      const text = readFileSync(join(folder, 'package', page), 'utf8')
      const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = '']) => target)
      return targets
        .filter((target) => !existsSync(join(folder, 'package', dirname(page), target)))
        .map((target) => `${page}: ${target}`)
    })
    expect(broken).toEqual([])
  })

  test('every entry point can be imported, with its types in place, and the command runs', async () => {
    for (const { types } of entries.map((name) => manifest.exports[name]))
      expect(files).toContain(types.slice(2))
    const names = entries.map((name) => join('paystile', name).replaceAll('\\', '/'))
    const code = names.map((name) => `await import(${JSON.stringify(name)})`).join('\n')
    const cwd = join(folder, 'package')
    await run(process.execPath, ['--input-type=module', '-e', code], { cwd })
    const { stdout } = await run(process.execPath, [manifest.bin.paystile, '--help'], { cwd })
    expect(stdout).toContain('paystile')
  })
})
