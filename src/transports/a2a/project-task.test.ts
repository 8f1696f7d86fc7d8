import { expect, test } from 'vitest'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import type { Dossier } from '../../engine/outcome.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import { receiptsOf } from './project-task.ts'

const challenge = testChallenge({ key: 'a2a-1', state: 'DELIVERED', receipt: 'pays' })
const receipt = (key: string, txHash: string) => ({
  ...{ key, txHash, payer: '0x1', lost: false, rail: challenge.rail },
})
const dossier = (change: object) =>
  ({
    challenge: { ...challenge, ...change },
    attempts: [],
    receipts: [receipt('pays', '0xab'), receipt('surplus', '0xcd')],
  }) as unknown as Dossier

test('the receipt of what paid for the delivery is signed, and that of a surplus is not', () => {
  const [paying, surplus] = receiptsOf(dossier({ signedReceipt: 'a.b.c' }))
  expect(paying).toMatchObject({ transaction: '0xab', extensions: receiptExtension('a.b.c') })
  expect(surplus).toMatchObject({ success: true, transaction: '0xcd' })
  expect(surplus).not.toHaveProperty('extensions')
})

test('a purchase of an earlier version has none', () => {
  for (const one of receiptsOf(dossier({}))) expect(one).not.toHaveProperty('extensions')
})
