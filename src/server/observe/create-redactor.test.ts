import { expect, test } from 'vitest'
import { createRedactor } from './create-redactor.ts'

const redactor = createRedactor()
redactor.conceal(['s3cret', 's3cret-and-more', 'a.b*c(d)'])

test.each([
  ['a told secret', 'the word is s3cret.', 'the word is [redacted].'],
  ['the longest of several', 'x s3cret-and-more y', 'x [redacted] y'],
  ['a secret of special characters', 'a.b*c(d) aXb*c(d)', '[redacted] aXb*c(d)'],
  ['another case of it', 'S3CRET', '[redacted]'],
  ['a JWT', 'token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'token [redacted]'],
  ['a payment header', `eyJ4NDAyVmVyc2lvbiI6Mn0${'A'.repeat(40)}==`, '[redacted]'],
  ['a signature', `by 0x${'Ab'.repeat(65)}`, 'by [redacted]'],
  ['a bearer', '{"h":"Bearer abc.def"}', '{"h":"Bearer [redacted]"}'],
  ['the user of a URL', 'postgres://me:pw@db:5432/x', 'postgres://[redacted]@db:5432/x'],
])('%s is taken out', (_what, text, clean) => {
  expect(redactor.clean(text)).toBe(clean)
})

test.each([
  `paid by 0x${'ab'.repeat(32)} to 0x${'cd'.repeat(20)}`,
  `http-AAAeyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIxIn0`,
  'https://rpc.example/v2 does not answer',
])('%s is no secret', (text) => {
  expect(redactor.clean(text)).toBe(text)
})
