import { expect, test } from 'vitest'
import { checkSpace } from './check-durability.ts'

const MIB = 1024 * 1024

test.each([
  [0, 'error'],
  [16 * MIB - 1, 'error'],
  [16 * MIB, 'warn'],
  [100 * MIB - 1, 'warn'],
  [100 * MIB, undefined],
])('a disk with %d bytes left: %s', (free, level) => {
  const found = checkSpace('/data', free)
  expect(found).toMatchObject(level === undefined ? [] : [{ level, fix: 'Make room on it.' }])
  if (free === 0) expect(found[0]!.message).toBe('the disk of /data has 0 MiB left')
})
