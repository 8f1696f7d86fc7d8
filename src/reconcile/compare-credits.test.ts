import { expect, test } from 'vitest'
import type { CreditLot } from '../rules/credit-lot.ts'
import { compareCredits } from './compare-credits.ts'
import type { Account, Refund } from './ledger-index.ts'

const USDC = { decimals: 6 }
const lot: CreditLot = {
  ...{ challengeId: 'a', payer: '0xaa', planId: 'basic', granted: 50, spent: 20, reserved: 0 },
  ...{ status: 'running', expiresAt: 1 },
}

function account(credits: Account['credits'], refund?: Partial<Refund>, change: Partial<Account> = {}) {
  const made = {
    ...{ id: 'a', own: true, state: 'DELIVERED', amount: '1000000', receipt: 'k', credits, refunds: [] },
    receipts: [{ key: 'k', value: '1000000', txHash: '0x1', lost: false }],
    ...change,
  } as unknown as Account
  if (refund) made.refunds.push({ key: 'k', movesState: false, phase: 'DONE', ...refund } as Refund)
  return made
}
const found = (one: Account) => compareCredits({ accounts: [one] }, USDC).found.map(({ message }) => message)
const sold = (change: Partial<CreditLot> = {}) => ({ sold: 50, lot: { ...lot, ...change } })

test('purchases that add up are not mentioned, whatever became of them', () => {
  for (const one of [
    account(undefined),
    account(sold()),
    account(sold({ status: 'closing', reserved: 3 })),
    account(sold({ status: 'closed' }), { value: '600000' }),
    account(sold({ status: 'closed' }), { value: '600000', phase: 'WAITING' }),
    account(sold({ status: 'closed', spent: 50 })),
    account(sold({ status: 'lost' })),
    account(sold({ status: 'lost' }), { value: '600000', phase: 'VOID' }),
    account(sold({ status: 'expired' })),
  ]) {
    expect(found(one)).toEqual([])
  }
  const { figures } = compareCredits(
    { accounts: [account(sold()), account(sold({ status: 'closed' }))] },
    USDC,
  )
  expect(figures).toMatchObject({ lots: 2, sold: 100, spent: 40, outstanding: 30 })
})

test('what does not add up is an error that says how', () => {
  expect(found(account({ sold: 50, lot: undefined }))[0]).toContain('no record of what became')
  expect(found(account(sold({ granted: 500 })))[0]).toContain('grants 500 credits, and 50 were sold')
  expect(found(account(sold({ spent: 51 })))[0]).toContain('51 of 50 credits were spent')
  expect(found(account(sold({ status: 'closed' })))[0]).toContain('$0.60 should go back')
  expect(found(account(sold({ status: 'closed' }), { value: '1000000' }))[0]).toContain('refund is of $1.00')
  expect(found(account(sold(), { value: '600000' }))[0]).toContain('the purchase is running')
  expect(found(account(undefined, { value: '600000' }))[0]).toContain('the sale granted none')
  expect(found(account(sold({ spent: 51 }), undefined, { own: false })), 'of another network').toEqual([])
})
