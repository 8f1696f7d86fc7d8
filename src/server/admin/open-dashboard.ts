import type { Gateway } from '../../gateway.ts'
import type { Observer } from '../observe/create-observer.ts'
import { type AdminApi, createAdminApi } from './create-admin-api.ts'
import { createOperatorMcp, type OperatorMcpParts } from './operator-mcp.ts'
import { createSalesBook, type SalesBook } from './sales-book.ts'
import { createWalletWatch, type WalletWatch } from './wallet-watch.ts'

/** What the operator sees of one gateway: its sales, its wallets, and the API behind the pages. */
export interface Dashboard {
  api: AdminApi
  book: SalesBook
  wallets: WalletWatch
  /** Ends its streams, so that a server can close; call it before the gateway is closed. */
  close(): void
}

export interface DashboardParts {
  gateway: Gateway
  observer: Observer
  /** Absent: the operator's agent is not served. */
  mcp?: Pick<OperatorMcpParts, 'writes' | 'diagnose'>
}

/** Creates the sales book, the wallet watch and the operator's API of a gateway, and gives the observer its gauges. */
export function openDashboard({ gateway, observer, mcp }: DashboardParts): Dashboard {
  const { backstage } = gateway
  const book = createSalesBook(backstage.store)
  const wallets = createWalletWatch(backstage)
  const closing = new AbortController()
  const unsubscribe = observer.onChange((unpaid) => book.note(unpaid))
  const unset = observer.setGauges({
    async challenges() {
      await book.refresh()
      return book.states()
    },
    async credits() {
      await book.refresh()
      await book.credits.refresh()
      return book.credits.report().perPlan
    },
    gasWallets: wallets.gasWallets,
    rails: () =>
      backstage.rails().map(({ network, withdrawn }) => {
        return { network: network.id, available: withdrawn === null }
      }),
  })
  const api = createAdminApi({
    gateway,
    book,
    alerts: observer.alerts,
    wallets,
    closing: closing.signal,
    onError: (error) => observer.log.error({ err: error }, 'the admin API failed'),
  })
  const { agentName } = gateway.discovery
  const operatorMcp = mcp && createOperatorMcp({ api, agentName, ...mcp })
  return {
    api: async (request, path) => (await operatorMcp?.(request, path)) ?? api(request, path),
    book,
    wallets,
    close() {
      unset()
      unsubscribe()
      closing.abort()
      book.close()
    },
  }
}
