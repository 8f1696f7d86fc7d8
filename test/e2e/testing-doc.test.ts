import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { INSTALL_ANVIL } from '../../src/testing/resolve-anvil.ts'
import { blocksOf } from './documented-commands.ts'
import { installPackage } from './installed-package.ts'

test('the test that docs/testing.md shows passes where the package is installed', async () => {
  const blocks = blocksOf('testing.md')
  expect(blocks[0]?.text.trim()).toBe(INSTALL_ANVIL)
  const installed = await installPackage()
  try {
    installed.add('express')
    writeFileSync(
      join(installed.folder, 'shop.test.mjs'),
      blocks.find(({ language }) => language === 'js')!.text,
    )
    const args = ['--test', '--test-reporter=tap', 'shop.test.mjs']
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: installed.folder,
      env: { ...env, PATH: installed.path },
    })
    expect(stdout).toMatch(/# pass 3\n# fail 0/)
  } finally {
    installed.remove()
  }
}, 180_000)
