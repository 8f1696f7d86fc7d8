import type { Store, TableName, Tables } from '../../ports.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { failedRefunds } from '../refund/failed-refunds.ts'

/** What a rail that is not configured has left to do, in rows of each kind. */
export interface UnfinishedRail {
  /** The rail's id, or its network's where only transactions of a wallet are left. */
  rail: string
  /** CAIP-2 id. */
  network: string
  /** Payments that may still land. */
  payments: number
  /** Receipts that are not final. */
  receipts: number
  refunds: number
  /** Refunds that failed, and wait for the operator: the challenge of each. */
  failedRefunds: string[]
  /** Transactions of our wallets that are not mined. */
  transactions: number
  /** Sales that are paid, and neither delivered nor refunded. */
  sales: number
}

type Kind = Exclude<keyof UnfinishedRail, 'rail' | 'network' | 'failedRefunds'>

const PAGE = 500
/** Unfinished rows are due soon, so they are among the first. */
const MAX_PAGES = 20

/**
 * Which rails that are not configured have unfinished rows. Changes nothing. The counts are exact up to ten thousand rows
 * of a kind; of a store that cannot list what is due, only refunds that failed are known.
 */
export async function unfinishedRails(
  store: Pick<Store, 'listDue' | 'get' | 'list' | 'log'>,
  configured: ReadonlySet<string>,
): Promise<UnfinishedRail[]> {
  const found = new Map<string, UnfinishedRail>()
  const networks = new Set([...configured].map(networkOfRail))

  function open(rail: string, network: string): UnfinishedRail {
    const known = found.get(rail) ?? {
      ...{
        rail,
        network,
        payments: 0,
        receipts: 0,
        refunds: 0,
        failedRefunds: [],
        transactions: 0,
        sales: 0,
      },
    }
    found.set(rail, known)
    return known
  }

  function count(rail: string, network: string, kind: Kind): void {
    open(rail, network)[kind]++
  }

  async function search<N extends 'authorizations' | 'receipts' | 'refunds' | 'challenges'>(
    table: N,
    kind: Kind,
    isUnfinished: (row: Tables[N]) => boolean,
  ): Promise<void> {
    for await (const row of dueRows(store, table)) {
      if (!configured.has(row.rail) && isUnfinished(row)) count(row.rail, networkOfRail(row.rail), kind)
    }
  }

  await search('authorizations', 'payments', ({ phase }) => IN_FLIGHT.includes(phase))
  await search('receipts', 'receipts', ({ finalized, lost }) => !finalized && !lost)
  await search('refunds', 'refunds', ({ phase }) => phase === 'WAITING' || phase === 'BROADCAST')
  for (const { rail, challengeId } of await failedRefunds(store)) {
    if (!configured.has(rail)) open(rail, networkOfRail(rail)).failedRefunds.push(challengeId)
  }
  await search('challenges', 'sales', ({ state }) => state === 'PAID')
  for await (const { chainId, phase } of dueRows(store, 'walletTxs')) {
    const network = `eip155:${chainId}`
    if (phase !== 'SENT' || networks.has(network)) continue
    const named = [...found.values()].find((entry) => entry.network === network)
    count(named?.rail ?? network, network, 'transactions')
  }
  return [...found.values()]
}

const IN_FLIGHT: readonly string[] = ['CLAIMED', 'CHARGED', 'BROADCAST', 'ABANDONED']

async function* dueRows<N extends TableName>(
  store: Pick<Store, 'listDue'>,
  table: N,
): AsyncGenerator<Tables[N]> {
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = (await store.listDue?.(table, page * PAGE, PAGE)) ?? []
    yield* rows
    if (rows.length < PAGE) return
  }
}
