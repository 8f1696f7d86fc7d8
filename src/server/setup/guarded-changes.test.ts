import { describe, expect, test } from 'vitest'
import { guardedChanges } from './guarded-changes.ts'

const before = { SVC_WALLET_ADDRESS: '0x1', BASE_URL: 'https://a', AGENT_NAME: 'a', TOKEN_SECRET: 's' }

describe('guardedChanges', () => {
  test('for prices and names a login is enough', () => {
    const after = { ...before, AGENT_NAME: 'b', PLANS: [{}], LOG_LEVEL: 'debug' }
    expect(guardedChanges(before, after, true)).toEqual([])
  })

  test.each([
    ['SVC_WALLET_ADDRESS', '0x2'],
    ['BASE_URL', 'https://b'],
    ['BASE_URL', undefined],
    ['SVC_NETWORK', 'mainnet'],
    ['GAS_WALLET_PRIVATE_KEY', 'key'],
    ['REFUND_WALLET_PRIVATE_KEY', 'key'],
    ['SVC_SECRET_KEY', 'key'],
    ['TOKEN_SECRET', undefined],
    ['TOKEN_PRIVATE_KEY', 'key'],
    ['ADMIN_TOKEN', 'token'],
    ['RPC_URL', 'http://liar'],
    ['ISSUE_TOKEN_API', 'http://thief'],
    ['PROXY_TO_BASE_URL', 'http://listener'],
    ['RESOURCE_ENDPOINT', 'https://thief/{resourceId}'],
    ['SVC_WALLET_ADDRESS_137', '0x2'],
    ['GAS_WALLET_PRIVATE_KEY_137', 'key'],
    ['RPC_URL_137', 'http://liar'],
    ['NETWORKS', '[]'],
  ])('%s as %j needs the token', (name, value) => {
    const { [name]: _old, ...others } = before as Record<string, string>
    const after = value === undefined ? others : { ...others, [name]: value }
    expect(guardedChanges(before, after, true)).toEqual([name])
  })

  test('before the server sells, only values that were set before need the token', () => {
    expect(guardedChanges({}, before, false)).toEqual([])
    expect(guardedChanges(before, { ...before, SVC_WALLET_ADDRESS: '0x2' }, false)).toEqual([
      'SVC_WALLET_ADDRESS',
    ])
  })
})
