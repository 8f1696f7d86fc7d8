import { expect, test } from 'vitest'
import { durationWords } from './duration.ts'

test.each([
  [0, '0 seconds'],
  [1, '1 second'],
  [90, '90 seconds'],
  [121, 'about 2 minutes'],
  [300, '5 minutes'],
  [3_600, '1 hour'],
  [5_400, '90 minutes'],
  [3_601, 'about 60 minutes'],
  [7_261, 'about 2 hours'],
  [86_400, '1 day'],
  [604_800, '7 days'],
  [1_000_000, 'about 12 days'],
  [315_360_000, '10 years'],
])('%d seconds are %s', (seconds, words) => expect(durationWords(seconds)).toBe(words))
