import type { Token } from '../protocol/network.ts'
import { addLot, type CreditFigures, noFigures, unspentShare } from '../rules/credit-lot.ts'
import { unitsToDollars } from '../rules/token-amount.ts'
import type { Discrepancy } from './discrepancy.ts'
import type { Account, LedgerIndex } from './ledger-index.ts'

/**
 * Compares each purchase of credits with what was sold, and the refunds of closed ones with what was unspent. What the
 * chain has of these refunds is compared with all others.
 */
export function compareCredits(
  { accounts }: Pick<LedgerIndex, 'accounts'>,
  token: Pick<Token, 'decimals'>,
): {
  found: Discrepancy[]
  figures: CreditFigures
} {
  const figures = noFigures()
  const found: Discrepancy[] = []
  for (const account of accounts) {
    if (!account.own) continue
    if (account.credits?.lot) addLot(figures, account.credits.lot)
    found.push(...differences(account, token))
  }
  return { found, figures }
}

function* differences(account: Account, token: Pick<Token, 'decimals'>): Generator<Discrepancy> {
  const dollars = (units: string) => unitsToDollars(token, units)
  const { credits, receipts, refunds, receipt: receiptKey } = account
  const tell = (message: string, fix: string): Discrepancy => {
    const { id: challengeId, receipts: all } = account
    const level = 'error' as const
    return { kind: 'credits-differ', level, challengeId, txHash: all[0]?.txHash ?? null, message, fix }
  }
  const receipt = receipts.find(({ key }) => key === receiptKey)
  const refund = refunds.find(({ key, movesState }) => key === receiptKey && !movesState)
  if (!credits) {
    if (refund) {
      const message = `${dollars(refund.value)} goes back for unspent credits, and the sale granted none`
      yield tell(message, 'Look who changed the record; the refund may be a mistake.')
    }
    return
  }
  const { sold, lot } = credits
  if (!lot) {
    yield tell(
      `${sold} credits were sold, and there is no record of what became of them`,
      'Was an old backup restored? The buyer cannot spend them: refund the sale by hand.',
    )
    return
  }
  const { granted, spent, reserved, status } = lot
  if (granted !== sold)
    yield tell(`the record grants ${granted} credits, and ${sold} were sold`, 'Restore it from a backup.')
  if (spent + reserved > granted)
    yield tell(`${spent + reserved} of ${granted} credits were spent`, 'Look who changed the record.')
  const due = status === 'closed' && receipt && !receipt.lost ? unspentShare(receipt.value, lot) : '0'
  if ((refund?.value ?? '0') === due || (status === 'lost' && refund?.phase === 'VOID')) return
  const left = `${granted - spent} of ${granted} credits are unspent and the purchase is ${status}`
  yield tell(
    `${left}: ${dollars(due)} should go back, and the recorded refund is of ${dollars(refund?.value ?? '0')}`,
    'Compare the record with the log of the sale, and settle the difference with the buyer by hand.',
  )
}
