import type {
  AuthorizationRow,
  ChallengeRow,
  ReceiptRow,
  RefundRow,
  WalletTxRow,
} from '../../../src/ports.ts'
import type { Buyer } from '../buyers/shop.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import type { Outside } from '../instance.ts'
import type { RecordedStore } from '../ports/recorded-store.ts'
import type { World } from '../world.ts'
import { checkBuyers } from './buyers.ts'
import { checkEnding } from './ending.ts'
import { incomeOf, type Transfer, transfersOf } from './ledger.ts'
import { checkMoney } from './money.ts'
import { checkTransitions } from './transitions.ts'

export interface Ended {
  world: World
  chain: SimChain
  recorded: RecordedStore
  buyers: readonly Buyer[]
  outside: Outside
}

/** The end of a history: what is stored, and what the chain says. */
export interface Scene extends Ended {
  transfers: Transfer[]
  income: Map<string, Transfer>
  challenges: Map<string, ChallengeRow>
  authorizations: AuthorizationRow[]
  receipts: Map<string, ReceiptRow>
  refunds: Map<string, RefundRow>
  walletTxs: WalletTxRow[]
}

/** Predicates over the chain's ledger, the rows' public facts and what buyers saw; none is the engine's own. */
export async function checkInvariants(ended: Ended): Promise<void> {
  const { recorded, chain } = ended
  const transfers = transfersOf(chain.head())
  const byKey = <R extends { key: string }>(rows: R[]) => new Map(rows.map((row) => [row.key, row]))
  const scene: Scene = {
    ...ended,
    transfers,
    income: byKey(incomeOf(transfers)),
    challenges: byKey(await recorded.readAll('challenges')),
    authorizations: (await recorded.readAll('authorizations')).filter(({ phase }) => phase !== 'RELEASED'),
    receipts: byKey(await recorded.readAll('receipts')),
    refunds: byKey(await recorded.readAll('refunds')),
    walletTxs: await recorded.readAll('walletTxs'),
  }
  checkMoney(scene)
  checkBuyers(scene)
  checkEnding(scene)
  await checkTransitions(scene)
}
