import { checkBuyers } from './buyers.ts'
import { checkEnding } from './ending.ts'
import { incomeOf, transfersOf } from './ledger.ts'
import { checkMoney } from './money.ts'
import type { Ended, Scene } from './scene.ts'
import { checkTransitions } from './transitions.ts'

/** Predicates over the chain's ledger, the rows' public facts and what buyers saw; none is the engine's own. */
export async function checkInvariants(ended: Ended): Promise<void> {
  const { recorded, chain } = ended
  const receipts = await recorded.readAll('receipts')
  const transfers = transfersOf(chain.head(), receipts)
  const byKey = <R extends { key: string }>(rows: R[]) => new Map(rows.map((row) => [row.key, row]))
  const scene: Scene = {
    ...ended,
    transfers,
    income: byKey(incomeOf(transfers)),
    challenges: byKey(await recorded.readAll('challenges')),
    authorizations: (await recorded.readAll('authorizations')).filter(({ phase }) => phase !== 'RELEASED'),
    receipts: byKey(receipts),
    refunds: byKey(await recorded.readAll('refunds')),
    walletTxs: await recorded.readAll('walletTxs'),
  }
  checkMoney(scene)
  checkBuyers(scene)
  checkEnding(scene)
  await checkTransitions(scene)
}
