import { expect, test } from 'vitest'
import { isLastingTlsFault, reasonOf } from './reason-of.ts'

const coded = (code: string, message = 'x', more: object = {}) =>
  Object.assign(new Error(message), { code, ...more })

test('a reason is told in words where its code is known, however deep it lies', () => {
  const refused = new AggregateError([coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:6379')])
  expect(reasonOf(new TypeError('fetch failed', { cause: refused }))).toBe('refuses the connection')
  expect(reasonOf(coded('CERT_NOT_YET_VALID'))).toBe('has a certificate that is not valid yet')
  expect(reasonOf('x')).toBe('cannot be used: failed')
})

test.each([
  ['Failed to parse URL from https://node.example/v2/KEY', 'Failed to parse URL from (URL)'],
  [
    'HTTP request failed.\nURL: https://node.example/v2/KEY\nRequest body: {}',
    'HTTP request failed.\nURL: (URL)\nRequest body: {}',
  ],
  ['"rediss://me:secret@cache:6379/0" is odd', '"(URL)" is odd'],
  ['connect ECONNABORTED 10.0.0.7:6379', 'connect ECONNABORTED 10.0.0.7:6379'],
  ['database disk image is malformed', 'database disk image is malformed'],
])('of an unknown one only URLs are left out, which may hold keys and passwords: %j', (message, told) => {
  expect(reasonOf(new Error(message))).toBe(`cannot be used: ${told}`)
})

test.each([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_REFUSED',
  'ERR_SSL_WRONG_VERSION_NUMBER',
])('%s is a matter of settings: it lasts', (code) => {
  expect(isLastingTlsFault(coded(code))).toBe(true)
})

test.each([
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR',
  'ERR_SSL_UNEXPECTED_EOF_WHILE_READING',
  'ECONNREFUSED',
])('%s may be gone in a moment: it does not', (code) => {
  expect(isLastingTlsFault(coded(code))).toBe(false)
})
