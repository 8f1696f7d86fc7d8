import { railTermsOf } from '../../src/engine/rails.ts'
import type { AuthorizationRow, ChallengeRow, Rail, Subject } from '../../src/ports.ts'
import { newChallenge, termsOf } from '../../src/rules/terms.ts'
import { SELLER, testRail } from './test-rail.ts'

export const PAYER = `0x${'aa'.repeat(20)}` as const
export const BASIC_PLAN: Subject = { kind: 'plan', planId: 'basic', resourceId: 'default' }

/** A PENDING challenge of a plan that was never stored, with the fields that the test cares about. */
export function testChallenge(
  change: Partial<ChallengeRow> & { key: string },
  { subject = BASIC_PLAN, rail = testRail() }: { subject?: Subject; rail?: Rail } = {},
): ChallengeRow {
  const { key, amount = '10', requestId = key } = change
  const known = { key, transport: 'http', createdAt: 0, expiresAt: 1, clientAgentId: null } as const
  return { ...newChallenge(termsOf(subject, amount, requestId, 0), railTermsOf(rail), known), ...change }
}

/** A claimed payment that was never stored. */
export function testAttempt(
  change: Partial<AuthorizationRow> & { key: string },
  rail: Rail = testRail(),
): AuthorizationRow {
  const { key, payer = PAYER, value = '10', challengeId = `of ${key}` } = change
  return {
    version: 0,
    ref: challengeId,
    dueAt: null,
    challengeId,
    rail: rail.id,
    auth: {
      from: payer,
      to: SELLER,
      value,
      validAfter: '0',
      validBefore: '9999999999',
      nonce: `0x${'01'.repeat(32)}`,
      signature: '0x',
    },
    payer,
    value,
    saltHash: null,
    phase: 'CLAIMED',
    fromHeight: 0,
    walletTx: null,
    sends: 0,
    batchLimit: null,
    reason: null,
    ...change,
  }
}
