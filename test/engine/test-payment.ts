import type { Offer, Payment } from '../../src/engine/outcome.ts'
import type { Rail } from '../../src/ports.ts'
import { offeredOn, SELLER, testRail } from './test-rail.ts'
import { PAYER } from './test-rows.ts'

/** A payment of a dollar; all that it says agrees with the terms of the rail. */
export function testPayment(change: Partial<Payment> = {}, rail: Rail = testRail()): Payment {
  const signed = {
    ...{ from: PAYER, to: SELLER, value: '1000000', validAfter: '0', validBefore: '9999' },
    ...{ nonce: `0x${'ab'.repeat(32)}`, signature: '0x00' },
  }
  const { key, payer, signature } = rail.scheme.factsOf(signed)
  return {
    rail: rail.id,
    signed,
    key,
    payer,
    signature,
    claims: [
      { about: 'amount', field: 'authorization.value', value: signed.value },
      { about: 'payTo', field: 'authorization.to', value: signed.to },
    ],
    echo: {},
    salt: null,
    ...change,
  }
}

/** A plan for a dollar, on one rail. */
export function testOffer(change: Partial<Offer> = {}): Offer {
  return {
    challengeId: 'http-1',
    requestId: 'r-1',
    kind: 'plan',
    itemId: 'basic',
    resourceId: 'default',
    resource: null,
    description: 'One hour',
    rails: [offeredOn(testRail(), '1000000', SELLER)],
    salt: 's',
    expiresAt: 1_800_000_000_000,
    message: 'Payment required',
    ...change,
  }
}
