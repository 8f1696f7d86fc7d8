import type { Facilitator, FacilitatorAnswer, Sendable, Sent, Settlement } from '../ports.ts'

/**
 * Settlement by a facilitator: one authorization per call. We have no transaction, so there is nothing to store or
 * maintain; the resolver sends an authorization again while it is valid.
 */
export function createFacilitatorSettlement(facilitator: Facilitator): Settlement {
  return {
    batchSize: 1,
    unavailable: async () => undefined,
    makeBatches: async (items: readonly Sendable[]) =>
      items.map(({ member, signed }) => ({
        keys: [member.key],
        puts: [],
        walletTx: null,
        send: async () => sentOf(await facilitator.settle(signed)),
        drop: () => {},
      })),
    maintain: async () => {},
  }
}

function sentOf(answer: FacilitatorAnswer): Sent {
  switch (answer.kind) {
    case 'hint':
      return { kind: 'sent' }
    case 'refused':
      return { kind: 'refused', reason: answer.reason }
    case 'unknown':
      return { kind: 'unknown', ...(answer.declined && { declined: answer.reason }) }
  }
}
