import { expect, test } from 'vitest'
import type { ChallengeRow } from '../facts.ts'
import { NETWORKS } from '../protocol/network.ts'
import type { PaymentPayload } from '../protocol/payment.ts'
import { buildCatalog } from '../rules/catalog.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId } from '../rules/challenge-id.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createEngine } from './engine.ts'

const network = NETWORKS.find(({ word }) => word === 'testnet')!
const payTo = `0x${'11'.repeat(20)}` as const
const plan = { kind: 'plan', planId: 'basic', resourceId: 'default' } as const
const price = { amount: '1000000', asset: network.asset, network: network.id, payTo }
const idKey = { id: 1, key: new Uint8Array(32) }
const EXPIRES_AT = 999_000
const named = { terms: termsOf(plan, price, 'r-1'), key: 'http-known' }
const ourTerms = termsOf(plan, price, `req-${'a'.repeat(22)}`)
const random = new Uint8Array(CHALLENGE_RANDOM_BYTES)
/** Of one that names itself nobody need ask the store, and it is stored all the same. */
const selfProving = {
  terms: ourTerms,
  key: makeChallengeId(idKey, 'http', EXPIRES_AT, random, ourTerms),
}
const unused = () => Promise.reject(new Error('must not be asked'))

test.each([named, selfProving])(
  '410 is answered only after EXPIRED is stored, so that money which lands later goes back: $key',
  async ({ terms, key }) => {
    const store = createMemoryStore()
    const clock = createFakeClock(1_000_000)
    const row: ChallengeRow = {
      ...newChallenge(terms, {
        key,
        transport: 'http',
        createdAt: 0,
        expiresAt: EXPIRES_AT,
        clientAgentId: null,
      }),
      claimed: true,
    }
    await store.commit({ puts: [{ table: 'challenges', row }] })
    const engine = createEngine(
      {
        store,
        clock,
        chain: {
          head: unused,
          simulate: unused,
          uses: unused,
          usesIfMined: unused,
          transfers: unused,
          mined: unused,
          submit: unused,
          wallet: unused,
        },
        settlement: { packs: 1, unavailable: unused, pack: unused, tend: unused },
        signatures: { check: unused, signed: unused },
        delivery: { instant: true, deliver: unused, open: unused },
        random: { bytes: (length) => new Uint8Array(length) },
        alerts: { raise: () => undefined },
        hooks: {},
      },
      {
        network,
        payTo,
        baseUrl: 'http://localhost',
        catalog: buildCatalog([{ planId: 'basic', unitAmount: '$1.00' }]),
        idKeys: [idKey],
        challengeTtlMs: 900_000,
        settleWaitMs: 1000,
        pollIntervalMs: 10,
        storePollMs: 250,
        gatherMs: 0,
        quietMs: 0,
        confirmations: 1,
        refundMinAgeMs: 0,
        refundIntervalMs: 1000,
        refundMaxAttempts: 5,
        jobIntervalMs: 1000,
        leaseMs: 1000,
        deliveryLeaseMs: 1000,
        payerFailuresPerMinute: 0,
      },
    )
    const payment: PaymentPayload = {
      x402Version: 2,
      payload: {
        signature: '0x00',
        authorization: {
          from: `0x${'22'.repeat(20)}`,
          to: payTo,
          value: '1000000',
          validAfter: '0',
          validBefore: '9999',
          nonce: `0x${'ab'.repeat(32)}`,
        },
      },
      accepted: {
        extra: { challengeId: key, requestId: terms.requestId, planId: 'basic', resourceId: 'default' },
      },
    }
    const outcome = await engine.purchase({ transport: 'http', planId: 'basic', payment })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'CHALLENGE_EXPIRED' } })
    const [stored] = await store.get('challenges', [key])
    expect(stored?.state).toBe('EXPIRED')
  },
)
