import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

test('docs/api.txt shows the exports as they are', () => {
  const built = execFileSync(process.execPath, ['scripts/api-report.mjs', '--print'], {
    cwd: root,
    encoding: 'utf8',
  })
  const committed = readFileSync(`${root}docs/api.txt`, 'utf8')
  expect(built, 'the public API has changed: if it is meant, run `npm run api` and commit docs/api.txt').toBe(
    committed,
  )
})
