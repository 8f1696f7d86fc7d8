import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { cli } from '../../test/e2e/cli-terminal.ts'

const folder = mkdtempSync(join(tmpdir(), 'paystile-export-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['', /^--out is empty; name a file/],
  [folder, /^--out .* is a folder; name a file in it, for example .*sales\.csv\.\n$/],
  ['/dev/null', /^--out \/dev\/null is no file/],
])('an export to %j is refused before anything is asked', async (out, words) => {
  // Neither a server nor records: whatever would ask one of them says so.
  const told = await cli({ DATA_DIR: join(folder, 'none') }, 'export', '--out', out)
  expect(told).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(words) })
  expect(readdirSync(folder)).toEqual([])
})

test('a file that is there already may be replaced: the records are asked', async () => {
  const out = join(folder, 'sales.csv')
  writeFileSync(out, 'of last year')
  const told = await cli({ DATA_DIR: join(folder, 'none') }, 'export', '--out', out)
  expect(told.errors).not.toContain('--out')
})
