import { expect, test } from 'vitest'
import { modeFault } from '../../bench/modes.ts'

test('a misspelt run of the benchmark is refused before it takes its ten minutes', () => {
  expect(modeFault('--help')).toMatch(/^--help is not an option\. npm run bench -- \[--full \| --quick/)
  expect(modeFault('--prepayed')).toContain('--prepaid')
  for (const known of [undefined, '--full', '--quick', '--prepaid', '--gas', '--stored', '--scale'])
    expect(modeFault(known)).toBeUndefined()
})
