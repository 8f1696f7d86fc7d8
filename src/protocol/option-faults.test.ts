import { expect, test } from 'vitest'
import { optionFaults } from './option-faults.ts'

const known = ['planId', 'resourceId']

test.each<[unknown, string[]]>([
  [{ planId: 'a', resourceId: false }, []],
  [{ planID: undefined }, []],
  [{ planID: 'a', other: 1 }, ['planID is not an option; did you mean "planId"?', 'other is not an option.']],
  ['a', ['the options are a string, and not an object with any of planId, resourceId.']],
  [null, ['the options are null, and not an object with any of planId, resourceId.']],
  [['a'], ['the options are a list, and not an object with any of planId, resourceId.']],
  [Promise.resolve({}), ['the options are a promise, and not an object with any of planId, resourceId.']],
])('%j as options: %j', (given, faults) => {
  expect(optionFaults(given, known)).toEqual(faults)
})
