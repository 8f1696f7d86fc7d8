import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHALLENGE_STATES, type ChallengeState } from '../protocol/access.ts'
import { type ChallengeEvent, nextState, TRANSITIONS } from './state-machine.ts'

const EVENTS: ChallengeEvent[] = [
  'paid',
  'delivered',
  'backend-failed',
  'delivery-failed',
  'expired',
  'cancelled',
  'late-money',
  'surplus-received',
  'receipt-lost',
  'refund-confirmed',
  'refund-failed',
  'refund-retried',
  'refund-proven',
]

/** The contract's own table, written out again by hand, so that a transition added by mistake fails here. */
const ALLOWED: Array<[ChallengeState, ChallengeEvent, ChallengeState]> = [
  ['PENDING', 'paid', 'PAID'],
  ['PAID', 'delivered', 'DELIVERED'],
  ['PENDING', 'expired', 'EXPIRED'],
  ['PENDING', 'cancelled', 'CANCELLED'],
  ['PAID', 'backend-failed', 'PAID'],
  ['PAID', 'delivery-failed', 'REFUND_PENDING'],
  ['REFUND_PENDING', 'refund-confirmed', 'REFUNDED'],
  ['REFUND_PENDING', 'refund-failed', 'REFUND_FAILED'],
  ['EXPIRED', 'late-money', 'REFUND_PENDING'],
  ['CANCELLED', 'late-money', 'REFUND_PENDING'],
  ['REFUND_FAILED', 'refund-retried', 'REFUND_PENDING'],
  ['REFUND_FAILED', 'refund-proven', 'REFUNDED'],
  ['PAID', 'receipt-lost', 'EXPIRED'],
  ['REFUND_PENDING', 'receipt-lost', 'EXPIRED'],
  ['DELIVERED', 'receipt-lost', 'DELIVERED'],
  ['PENDING', 'surplus-received', 'PENDING'],
  ['PAID', 'surplus-received', 'PAID'],
  ['DELIVERED', 'surplus-received', 'DELIVERED'],
  ['REFUND_PENDING', 'surplus-received', 'REFUND_PENDING'],
  ['REFUNDED', 'surplus-received', 'REFUNDED'],
  ['REFUND_FAILED', 'surplus-received', 'REFUND_FAILED'],
]

describe('the state machine', () => {
  test('allows exactly the listed transitions', () => {
    for (const state of CHALLENGE_STATES) {
      for (const event of EVENTS) {
        const row = ALLOWED.find(([from, by]) => from === state && by === event)
        expect([state, event, nextState(state, event)]).toEqual([state, event, row?.[2]])
      }
    }
  })

  test('knows no event or state beyond the listed ones', () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...CHALLENGE_STATES].sort())
    const known = new Set<string>(EVENTS)
    for (const row of Object.values(TRANSITIONS))
      for (const event of Object.keys(row)) expect(known).toContain(event)
  })

  test('no sequence of events leaves it or loses a receipt', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 40 }), (events) => {
        let state: ChallengeState = 'PENDING'
        /** Receipts that were not used for a delivery, refunded, or lost on the chain. */
        let held = 0
        for (const event of events) {
          const next = nextState(state, event)
          if (next === undefined) continue
          if (event === 'paid' || event === 'late-money') held++
          if (event === 'delivered' || event === 'refund-confirmed' || event === 'refund-proven') held--
          if (event === 'receipt-lost' && state !== 'DELIVERED') held--
          state = next
          expect(CHALLENGE_STATES).toContain(state)
          // While we hold money, the state says what is owed; without money nothing is.
          expect(held).toBe(['PAID', 'REFUND_PENDING', 'REFUND_FAILED'].includes(state) ? 1 : 0)
        }
      }),
      { numRuns: 2000 },
    )
  })
})
