import { describe, expect, test } from 'vitest'
import { operatorCookies, setsOperatorCookie, withoutOperatorCookie } from './operator-cookie.ts'

describe('the cookie of the operator', () => {
  test.each([
    ['svc_admin=secret', undefined],
    ['a=1; svc_admin=secret; b=2', 'a=1; b=2'],
    ['svc_admin=secret; svc_admin=again;b=2', 'b=2'],
    ['SVC_Admin=secret; svc_admins=1', 'svc_admins=1'],
    [' svc_admin = secret ', undefined],
    ['a=svc_admin=1', 'a=svc_admin=1'],
    ['svc_admin', undefined],
    ['a=1', 'a=1'],
  ])('a backend sees of %j only %j', (header, seen) => {
    expect(withoutOperatorCookie(header)).toBe(seen)
  })

  test.each([
    ['svc_admin=x; Path=/admin', true],
    ['SVC_ADMIN=x', true],
    ['=svc_admin=x; Path=/', true],
    ['svc_admin', true],
    ['theirs=svc_admin; Path=/', false],
    ['svc_administrator=x', false],
  ])('%j sets it: %j', (header, sets) => {
    expect(setsOperatorCookie(header)).toBe(sets)
  })

  test('each value that a browser sends for it is tried', () => {
    expect(operatorCookies('svc_admin=a; x=1; svc_admin=b; svc_admin=')).toEqual(['a', 'b'])
    expect(operatorCookies(null)).toEqual([])
  })
})
