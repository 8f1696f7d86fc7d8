import { checkBounds } from './bounds.ts'
import { checkBuyers } from './buyers.ts'
import { checkCredits } from './credits.ts'
import { checkEnding } from './ending.ts'
import { checkEvents } from './events.ts'
import { forgivenIn } from './forgiven.ts'
import { incomeOf, transfersOf } from './ledger.ts'
import { checkMetered } from './metered.ts'
import { checkMoney } from './money.ts'
import { checkSignedReceipts } from './receipts.ts'
import type { Ended, Scene } from './scene.ts'
import { checkSecrets } from './secrecy.ts'
import { checkTransitions } from './transitions.ts'

/** Checks over the chain's ledger, the stored rows and what buyers saw; none uses code of the engine. */
export async function checkInvariants(ended: Ended): Promise<void> {
  const { recorded, chains } = ended
  const receipts = await recorded.readAll('receipts')
  const transfers = chains.flatMap((chain) => transfersOf(chain, receipts))
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
  checkSignedReceipts(scene)
  checkEnding(scene)
  await checkBounds(scene)
  await checkCredits(scene)
  await checkMetered(scene)
  await checkSecrets(scene)
  await checkTransitions(scene)
  await checkEvents(scene)
}
