import { describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig, resolveConfig } from './resolve-config.ts'

const wallet = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F'
const good: GatewayOptions = {
  walletAddress: wallet,
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'correct-horse-battery-staple-0123456789',
}

/** As a caller without types would write it. */
const withChange = (change: Record<string, unknown>) => ({ ...good, ...change }) as unknown as GatewayOptions

describe('all faults at once', () => {
  test('one ConfigError has a line for every fault, missing options first', () => {
    const options = withChange({
      walletAddress: undefined,
      network: 'moon',
      plans: [{ planId: 'a', unitAmount: '1' }, { planId: 'b' }],
      tokenSecret: 'short',
      gasWalletPrivateKey: '0x1',
      refundWalletPrivateKey: '0x1',
      rpcUrl: 'x',
      baseUrl: 'x',
      secretKey: 'x',
      confirmations: 0,
      walletAdress: wallet,
    })
    let thrown: unknown
    try {
      resolveConfig(options)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ConfigError)
    const { faults, message } = thrown as ConfigError
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
      'walletAddress',
      'walletAdress',
      'network',
      'plans[0].unitAmount',
      'plans[1]',
      'tokenSecret',
      'gasWalletPrivateKey',
      'refundWalletPrivateKey',
      'secretKey',
      'baseUrl',
      'rpcUrl',
      'confirmations',
    ])
    expect(message.split('\n')).toHaveLength(12)
  })

  test('messages use the names that the source gives', () => {
    const labels = {
      walletAddress: 'SVC_WALLET_ADDRESS',
      plans: 'PLANS',
      challengeTtlSeconds: 'CHALLENGE_TTL_SECONDS',
    }
    const options = withChange({
      walletAddress: wallet.slice(0, -1),
      plans: [{ planId: 'basic', unitAmount: '1' }],
      challengeTtlSeconds: 0,
    })
    expect(checkConfig(options, { labels }).faults).toEqual([
      'SVC_WALLET_ADDRESS has 39 hex digits; an address has 40, for example 0x71C7…976F.',
      'PLANS[0].unitAmount "1" must start with "$", for example "$1.00".',
      'CHALLENGE_TTL_SECONDS is 0; it must be a whole number from 1 to 86400 (1 day), for example CHALLENGE_TTL_SECONDS=900',
    ])
  })

  test('no message repeats a secret, wherever a seller put it', () => {
    const leak = 'hunter2hunter2'
    const secrets: Record<string, unknown>[] = [
      { tokenSecret: leak },
      { tokenSecret: '', tokenPrivateKey: `-----BEGIN PRIVATE KEY-----\n${leak}\n-----END PRIVATE KEY-----` },
      { gasWalletPrivateKey: leak },
      { gasWalletPrivateKey: [leak, leak] },
      { refundWalletPrivateKey: leak },
      { secretKey: leak },
      { cdpApiKeySecret: leak },
      { issueTokenApiSecret: leak },
      { rpcUrl: `wss://rpc.example/${leak}` },
      { rpcUrl: `https://u:${leak}@rpc.example` },
      { issueTokenApi: `ftp://x/?key=${leak}` },
      { databaseUrl: `postgres://u:${leak}@db` },
      { walletAddress: `0x${Buffer.from(leak).toString('hex').padEnd(64, '0')}` },
    ]
    for (const change of secrets) {
      const { faults, missing } = checkConfig(withChange(change))
      const text = [...missing, ...faults].join('\n')
      expect(text).not.toBe('')
      expect(text).not.toContain('hunter2')
      expect(text).not.toContain(Buffer.from('hunter2').toString('hex'))
    }
  })
})
