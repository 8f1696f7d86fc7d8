import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { claimPayment } from '../settle/claim-payment.ts'
import { creditsOf } from './credit-rows.ts'

const PAID = { payer: PAYER, txHash: '0x1', paidAt: 1 } as const
const catalogOf = (credits?: number) =>
  buildCatalog([{ planId: 'basic', unitAmount: '$1.00', ...(credits !== undefined && { credits }) }])

test('a purchase grants what was offered with its price, even if the plan grants something else since', async () => {
  const { core, rail, store } = testCore({ config: { catalog: catalogOf(100) } })
  // As a version stored it that did not note what was offered.
  const { credits: _, ...challenge } = testChallenge({ key: 'http-1', requestId: 'r-1' })
  const payment = { key: 'k', payer: PAYER, salt: null, signed: {}, claims: {} } as never
  const intent = { transport: 'http', payment } as never
  const checked = { signed: {} as never, byKey: true }
  const found = { kind: 'open', challenge, inserts: [], lookupSkipped: false } as never
  expect(await claimPayment(core, rail, found, checked, intent)).toBeDefined()
  const [claimed] = await store.get('challenges', ['http-1'])
  const granted = (credits: number | undefined, row = claimed!) =>
    creditsOf(testCore({ config: { catalog: catalogOf(credits) } }).core, { ...row, ...PAID }, 9).map(
      (put) => put.table === 'credits' && put.row.granted,
    )
  expect(granted(undefined)).toEqual([100])
  expect(granted(7)).toEqual([100])
  expect(granted(7, challenge), 'claimed by such a version too').toEqual([7])
  expect(granted(undefined, challenge)).toEqual([])
})
