import { expect, test } from 'vitest'
import { restore } from './restore.ts'
import { SMALL } from './scenario.ts'

test('a backup taken under load is restored after kill -9: what was sold before it is there, and reconcile names every payment since', async () => {
  expect((await restore(SMALL)).faults).toEqual([])
}, 300_000)
