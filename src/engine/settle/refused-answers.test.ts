import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ChallengeRow } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEngine } from '../engine.ts'

test('a payment that nobody can have signed is answered with the network that it was for', async () => {
  const verify = async () => ({ endless: 'validBefore is above' })
  const other = testRail({ network: MAINNET, scheme: { verify } })
  const { ports, config } = testPorts({ clock: createFakeClock(500_000), rails: [testRail({}), other] })
  const row = testChallenge({ key: 'http-known', requestId: 'r-1', amount: '1000000', expiresAt: 999_000 })
  await ports.store.commit({ puts: [{ table: 'challenges', row }] })
  const echo = { challengeId: 'http-known', requestId: 'r-1', planId: 'basic', resourceId: 'default' }
  const payment = testPayment({ echo }, other)
  const outcome = await createEngine(ports, config).purchase({ transport: 'http', planId: 'basic', payment })
  expect(outcome).toMatchObject({
    ...{ kind: 'failed', error: { code: 'PAYMENT_FAILED' } },
    settled: { network: MAINNET.id },
  })
})

test.each<[ChallengeRow['state'], string]>([
  ['EXPIRED', 'CHALLENGE_EXPIRED'],
  ['CANCELLED', 'CHALLENGE_EXPIRED'],
  ['REFUNDED', 'CHALLENGE_REFUNDED'],
])(
  'the payment without salt of a challenge that is %s is told so, and not to fetch a result',
  async (state, code) => {
    const { ports, config } = testPorts({ clock: createFakeClock(500_000) })
    const payment = testPayment({ echo: {} })
    const row = testChallenge({ key: 'http-known', requestId: 'r-1', expiresAt: 999_000, state })
    const attempt = testAttempt({ key: payment.key, challengeId: row.key, phase: 'DEAD', saltHash: null })
    await ports.store.commit({
      puts: [
        { table: 'challenges', row },
        { table: 'authorizations', row: attempt },
      ],
    })
    const outcome = await createEngine(ports, config).purchase({
      transport: 'http',
      planId: 'basic',
      payment,
    })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code } })
    expect(JSON.stringify(outcome)).not.toContain('To fetch the result')
  },
)
