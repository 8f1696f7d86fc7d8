import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import { BASIC_PLAN, testChallenge } from '../../../test/engine/test-rows.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId } from '../../rules/challenge-id.ts'
import { termsOf } from '../../rules/terms.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEngine } from '../engine.ts'

const EXPIRES_AT = 999_000
const { config } = testPorts()
const named = { requestId: 'r-1', key: 'http-known' }
const generated = `req-${'a'.repeat(22)}`
const random = new Uint8Array(CHALLENGE_RANDOM_BYTES)
/** Its id proves its terms, so the engine may skip looking it up; here it is stored all the same. */
const selfProving = {
  requestId: generated,
  key: makeChallengeId(
    config.idKeys[0]!,
    'http',
    EXPIRES_AT,
    random,
    termsOf(BASIC_PLAN, '1000000', generated),
  ),
}
test.each([named, selfProving])(
  '410 is answered only after EXPIRED is stored, so that money that lands later is refunded: $key',
  async ({ requestId, key }) => {
    const { ports, config } = testPorts({ clock: createFakeClock(1_000_000) })
    const row = testChallenge({ key, requestId, amount: '1000000', expiresAt: EXPIRES_AT, claimed: true })
    await ports.store.commit({ puts: [{ table: 'challenges', row }] })
    const engine = createEngine(ports, config)
    const echo = { challengeId: key, requestId, planId: 'basic', resourceId: 'default' }
    const payment = testPayment({ echo })
    const outcome = await engine.purchase({ transport: 'http', planId: 'basic', payment })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'CHALLENGE_EXPIRED' } })
    const [stored] = await ports.store.get('challenges', [key])
    expect(stored?.state).toBe('EXPIRED')
  },
)
