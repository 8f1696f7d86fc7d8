import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const script = fileURLToPath(new URL('../scripts/find-python.mjs', import.meta.url))

/** What is found where this shell script stands for the `python3` of the PATH. */
function foundWith(python3: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-find-python-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'python3'), `#!/bin/sh\n${python3}\n`, { mode: 0o755 })
  const code = `import { findPython } from ${JSON.stringify(script)}; console.log(findPython())`
  const args = ['--input-type=module', '--eval', code]
  return execFileSync(process.execPath, args, { env: { PATH: folder }, encoding: 'utf8' }).trim()
}

test('packages are found where the python3 of the PATH finds them, and otherwise where that of the system does', () => {
  expect(foundWith('echo /opt/own/bin/python3')).toBe('/opt/own/bin/python3')
  expect(foundWith('exit 1')).toMatch(/^\/usr\/bin\/python3|^undefined$/)
})
