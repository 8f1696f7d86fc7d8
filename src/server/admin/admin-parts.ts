import type { Gateway } from '../../gateway.ts'
import type { AlertBook } from '../observe/alert-book.ts'
import type { SalesBook } from './sales-book.ts'
import type { WalletWatch } from './wallet-watch.ts'

/** What the operator's API is made of. */
export interface AdminParts {
  gateway: Gateway
  book: SalesBook
  alerts: AlertBook
  wallets: WalletWatch
  /** Ends the event streams when it is aborted; default: never. */
  closing?: AbortSignal
  onError?(error: unknown): void
}
