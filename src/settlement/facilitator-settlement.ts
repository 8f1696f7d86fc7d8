import type { Facilitator, FacilitatorAnswer, Parcelable, Sent, Settlement } from '../ports.ts'

/**
 * Settlement by a facilitator: one authorization per call. It keeps no transactions of its own, so there is nothing
 * to store or to tend; the resolver sends an authorization again while it is valid.
 */
export function createFacilitatorSettlement(facilitator: Facilitator): Settlement {
  return {
    packs: 1,
    unavailable: async () => undefined,
    pack: async (items: readonly Parcelable[]) =>
      items.map(({ key, auth }) => ({
        members: [key],
        puts: [],
        walletTx: null,
        send: async () => sentOf(await facilitator.settle(auth)),
        drop: () => {},
      })),
    tend: async () => {},
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
