import type { Step } from '../../../src/ports.ts'
import type { World } from '../world.ts'
import { readReceipt } from './sim-receipts.ts'

/** Receipts as they were stored, step by step. */
export interface WatchedReceipts {
  /** Every receipt that was ever stored: buyers may see no other. */
  readonly stored: ReadonlySet<string>
  /** Looks at an applied step. */
  watch(step: Step): void
}

/**
 * I18, in every step: a sale has a receipt from the step that makes DELIVERED, and a refund from the one that makes REFUNDED. Neither comes earlier, and neither changes,
 * unless a reorganisation gave the payment another transaction.
 */
export function watchReceipts(world: World): WatchedReceipts {
  const { lost } = world
  const stored = new Set<string>()
  const last = new Map<string, { receipt?: string | undefined; refund?: string | undefined }>()

  return {
    stored,
    watch({ puts }) {
      for (const { table, row } of puts) {
        if (table !== 'challenges') continue
        const { key, state, signedReceipt: receipt, signedRefund: refund, txHash } = row
        const before = last.get(key)
        last.set(key, { receipt, refund })
        for (const jws of [receipt, refund]) if (jws !== undefined) stored.add(jws)
        // An instance may go on from a row that the store has lost.
        if (lost.challenges.has(key)) continue
        // What cost nothing was not paid, and has no receipt.
        if ((receipt !== undefined) !== (state === 'DELIVERED' && row.chargedUnits !== '0'))
          world.violate('I18', `${key} is ${state} ${receipt ? 'with' : 'without'} a receipt`)
        if ((refund !== undefined) !== (state === 'REFUNDED'))
          world.violate('I18', `${key} is ${state} ${refund ? 'with' : 'without'} a receipt of a refund`)
        if (receipt !== undefined && readReceipt(receipt).transaction !== txHash)
          world.violate('I18', `the receipt of ${key} names another transaction than ${txHash}`)
        if (before?.refund !== undefined && before.refund !== refund)
          world.violate('I18', `the refund of ${key} was signed twice`)
        if (before?.receipt === undefined || before.receipt === receipt) continue
        world.count('receipts signed again')
        if (readReceipt(before.receipt).transaction === txHash)
          world.violate('I18', `the receipt of ${key} was signed twice for one transaction`)
      }
    },
  }
}
