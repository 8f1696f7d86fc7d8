import type {
  AuthorizationRow,
  ChallengeRow,
  ReceiptRow,
  RefundRow,
  WalletTxRow,
} from '../../../src/ports.ts'
import type { Buyer } from '../buyers/shop.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import type { Instance } from '../instance.ts'
import type { Outside } from '../outside.ts'
import type { RecordedStore } from '../ports/recorded-store.ts'
import type { World } from '../world.ts'
import type { Forgiven } from './forgiven.ts'
import type { Transfer } from './ledger.ts'

export interface Ended {
  world: World
  chains: readonly SimChain[]
  recorded: RecordedStore
  buyers: readonly Buyer[]
  outside: Outside
  instances: readonly Instance[]
}

/** The end of a history: the stored rows and the state of the chain. */
export interface Scene extends Ended {
  transfers: Transfer[]
  income: Map<string, Transfer>
  forgiven: Forgiven
  challenges: Map<string, ChallengeRow>
  authorizations: AuthorizationRow[]
  receipts: Map<string, ReceiptRow>
  refunds: Map<string, RefundRow>
  walletTxs: WalletTxRow[]
}
