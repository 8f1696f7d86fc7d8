import { checkBounds } from './bounds.ts'
import { checkBuyers } from './buyers.ts'
import { checkEnding } from './ending.ts'
import { forgivenIn } from './forgiven.ts'
import { incomeOf, transfersOf } from './ledger.ts'
import { checkMoney } from './money.ts'
import type { Ended, Scene } from './scene.ts'
import { checkSecrets } from './secrecy.ts'
import { checkTransitions } from './transitions.ts'

/** Predicates over the chain's ledger, the rows' public facts and what buyers saw; none is the engine's own. */
export async function checkInvariants(ended: Ended): Promise<void> {
  const { recorded, chain } = ended
  const receipts = await recorded.readAll('receipts')
  const transfers = transfersOf(chain.head(), receipts)
  const byKey = <R extends { key: string }>(rows: R[]) => new Map(rows.map((row) => [row.key, row]))
  const income = incomeOf(transfers)
  const charged = new Set(income.map(({ key }) => key))
  if (charged.size < income.length) ended.world.violate('I2', 'one authorization was charged twice')
  const challenges = await recorded.readAll('challenges')
  const scene: Scene = {
    ...ended,
    forgiven: forgivenIn(ended, challenges),
    transfers,
    income: byKey(income),
    challenges: byKey(challenges),
    authorizations: (await recorded.readAll('authorizations')).filter(({ phase }) => phase !== 'RELEASED'),
    receipts: byKey(receipts),
    refunds: byKey(await recorded.readAll('refunds')),
    walletTxs: await recorded.readAll('walletTxs'),
  }
  checkMoney(scene)
  checkBuyers(scene)
  checkEnding(scene)
  await checkBounds(scene)
  await checkSecrets(scene)
  await checkTransitions(scene)
}
