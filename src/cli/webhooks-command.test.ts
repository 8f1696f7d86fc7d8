import { expect, test } from 'vitest'
import { cli } from '../../test/e2e/cli-terminal.ts'

test('two lists at once are refused before anything is asked', async () => {
  expect(await cli({}, 'webhooks', 'list', '--parked', '--waiting')).toEqual({
    ...{ code: 1, output: '' },
    errors: '--waiting and --parked are two lists: ask for one of them.\n',
  })
})
