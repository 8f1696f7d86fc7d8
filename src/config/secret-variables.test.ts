import { describe, expect, test } from 'vitest'
import { SAVED_NAMES } from './config-file.ts'
import { secretHint } from './secret-hint.ts'
import { isSecret } from './secret-variables.ts'

describe('secrets', () => {
  test('every variable whose name sounds like a secret is treated as one', () => {
    const harmless = ['CDP_API_KEY_ID', 'ISSUE_TOKEN_API', 'TOKEN_TTL_SECONDS', 'WEBHOOK_ALLOW_HOSTS']
    const suspicious = SAVED_NAMES.filter((name) =>
      /KEY|SECRET|TOKEN|PASSWORD|WEBHOOK|RPC|DATABASE/.test(name),
    )
    expect(suspicious.filter((name) => !isSecret(name)).sort()).toEqual(harmless)
  })

  test('the hint of a key is its address, that of a URL its host; others have none', () => {
    const key = `0x${'0'.repeat(63)}1`
    const address = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf'
    expect(secretHint('REFUND_WALLET_PRIVATE_KEY', key)).toBe(address)
    expect(secretHint('GAS_WALLET_PRIVATE_KEY', `${key}, ${key}`)).toBe(`${address}, ${address}`)
    expect(secretHint('GAS_WALLET_PRIVATE_KEY', 'hunter2')).toBeUndefined()
    expect(secretHint('TOKEN_SECRET', 'hunter2')).toBeUndefined()
    expect(secretHint('RPC_URL', 'https://rpc.example/v2/hunter2')).toBe('rpc.example')
    expect(secretHint('DATABASE_URL', 'postgres://user:hunter2@db:5432/x?sslmode=require')).toBe('db:5432')
    expect(secretHint('DATABASE_URL', 'postgres://user:hunt/er2@db:5432/x')).toBeUndefined()
    expect(secretHint('REDIS_URL', 'redis+sentinel://:hunter2@a:1,b:2/m')).toBe('a:1,b:2')
    expect(secretHint('REDIS_URL', 'hunter2')).toBeUndefined()
  })

  test('what is secret for all networks is secret for one', () => {
    for (const name of [
      'RPC_URL_137',
      'GAS_WALLET_PRIVATE_KEY_137',
      'REFUND_WALLET_PRIVATE_KEY_137',
      'NETWORKS',
    ])
      expect(isSecret(name), name).toBe(true)
    for (const name of ['SVC_WALLET_ADDRESS_137', 'FACILITATOR_URL_137', 'TOKEN_SECRET_137'])
      expect(isSecret(name), name).toBe(false)
    expect(secretHint('RPC_URL_137', 'https://a.example/hunter2, https://b.example')).toBe(
      'a.example, b.example',
    )
    expect(secretHint('RPC_URL_137', 'https://a.example/hunter2,hunter2')).toBeUndefined()
  })
})
