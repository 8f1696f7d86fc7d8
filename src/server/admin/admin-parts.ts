import type { Gateway } from '../../gateway.ts'
import type { AlertBook } from '../observe/alert-book.ts'
import type { SalesBook } from './sales-book.ts'
import type { WalletWatch } from './wallet-watch.ts'

/** What the operator's API needs of a gateway. */
export type AdminGateway = Pick<
  Gateway,
  'backstage' | 'cancel' | 'retryRefund' | 'proveRefund' | 'closeCredits'
>

/** What the operator's API is made of. */
export interface AdminParts {
  gateway: AdminGateway
  book: SalesBook
  alerts: AlertBook
  wallets: WalletWatch
  /** Ends the event streams when it is aborted; default: never. */
  closing?: AbortSignal
  /** How long an event stream lasts before the page has to connect again; default: until it is closed. */
  streamLifeMs?: number
  onError?(error: unknown): void
}
