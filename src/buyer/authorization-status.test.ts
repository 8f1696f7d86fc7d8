import { expect, test } from 'vitest'
import { authorizationStatus, expiryMs } from './authorization-status.ts'

const payment = (network: string) => ({
  header: '',
  subject: 's',
  network,
  amount: '1',
  validBefore: '1000',
})

test.each([
  ['eip155:8453', 30],
  ['eip155:421614', 30],
  ['eip155:1', 180],
  ['eip155:31337', 30],
])(
  'on %s an authorization is dead %i seconds after its validity at the earliest',
  async (network, seconds) => {
    const untilMs = (1_000 + seconds) * 1_000
    expect(expiryMs(payment(network))).toBe(untilMs)
    const status = (nowMs: number) => authorizationStatus(fetch, payment(network), [], nowMs)
    expect(await status(untilMs - 1)).toEqual({ kind: 'open', untilMs })
    expect(await status(untilMs)).toMatchObject({ kind: 'unknown', why: expect.stringContaining(network) })
  },
)
