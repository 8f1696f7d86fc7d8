import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import type { GatewayOptions } from './options.ts'
import { resolveConfig } from './resolve-config.ts'

const good: GatewayOptions = {
  walletAddress: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'correct-horse-battery-staple-0123456789',
}
const pem = (key: KeyObject) =>
  String(key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }))
const [first, second] = [
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
]

function faultsOf(change: Record<string, unknown>): string[] {
  try {
    resolveConfig({ ...good, ...change } as unknown as GatewayOptions)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...error.faults]
  }
}

describe('receiptPrivateKey', () => {
  test('is a PEM on P-256, with older keys behind it, private or public', () => {
    expect(resolveConfig(good)).toMatchObject({ receiptPrivateKey: null, signedOffers: false })
    expect(faultsOf({ receiptPrivateKey: pem(first.privateKey) })).toEqual([])
    expect(faultsOf({ receiptPrivateKey: pem(first.privateKey) + pem(second.privateKey) })).toEqual([])
    expect(faultsOf({ receiptPrivateKey: pem(first.privateKey) + pem(second.publicKey) })).toEqual([])
  })

  test('that is none gets one line, which says what to do and repeats nothing of it', () => {
    const secret = 'c2VjcmV0LXNlY3JldA'
    const broken = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`
    for (const given of ['secret-of-mine', broken, pem(first.publicKey)]) {
      const faults = faultsOf({ receiptPrivateKey: given })
      expect(faults).toEqual([
        expect.stringMatching(/^receiptPrivateKey is no unencrypted private key in PEM.*openssl genpkey/),
      ])
      expect(faults.join()).not.toContain(secret)
      expect(faults.join()).not.toContain('secret-of-mine')
    }
  })

  test('of another kind is refused by its name', () => {
    const rsa = generateKeyPairSync('ed25519').privateKey
    const k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey
    expect(faultsOf({ receiptPrivateKey: pem(rsa) })).toEqual([expect.stringContaining('of type ed25519')])
    expect(faultsOf({ receiptPrivateKey: pem(k1) })).toEqual([expect.stringContaining('of type secp256k1')])
  })

  test('with a broken older key names which one', () => {
    const broken = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'
    expect(faultsOf({ receiptPrivateKey: pem(first.privateKey) + broken })).toEqual([
      expect.stringMatching(/^receiptPrivateKey \(key 2 of 2\) cannot be read as a PEM key/),
    ])
  })
})

test('signedOffers is true or false, and nothing else', () => {
  expect(resolveConfig({ ...good, signedOffers: true })).toMatchObject({ signedOffers: true })
  expect(faultsOf({ signedOffers: 'perhaps' })).toEqual([expect.stringMatching(/^signedOffers .*true/)])
})
