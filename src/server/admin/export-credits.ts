import type { Store } from '../../ports.ts'
import type { Network } from '../../protocol/network.ts'
import { figuresOf, lotOfSale, soldIn } from '../../rules/credit-lot.ts'
import { amounts, type ExportFormat, type ExportRange, exportLog, sumMicro } from './export-sales.ts'
import type { LogEntry } from './follow-log.ts'
import { type FindNetwork, knownNetworks } from './known-networks.ts'

const COLUMNS = [
  'soldAt',
  'challengeId',
  'requestId',
  'planId',
  'resourceId',
  'payer',
  'network',
  'testnet',
  'status',
  'granted',
  'spent',
  'reserved',
  'outstanding',
  'expired',
  'closed',
  'lost',
  'expiresAt',
  'closedAt',
  'priceMicro',
  'priceUsd',
  'refundedMicro',
  'refundedUsd',
  'refundTxHashes',
] as const

/** One line per purchase of credits, oldest first, in chunks of text; dated by its delivery. */
export async function* exportCredits(
  store: Pick<Store, 'log' | 'get' | 'list' | 'audit'>,
  format: ExportFormat,
  { from = 0, to = Number.POSITIVE_INFINITY }: ExportRange = {},
  networks: readonly Network[] = [],
): AsyncGenerator<string> {
  const find = await knownNetworks(store, networks)
  yield* exportLog(
    store,
    { format, columns: COLUMNS, from, to },
    (entry) => soldIn(entry) > 0,
    (entry) => lineOf(store, entry, find),
  )
}

async function lineOf(
  store: Pick<Store, 'get' | 'list' | 'audit'>,
  { challengeId, requestId, at }: LogEntry,
  find: FindNetwork,
) {
  // Read before the log: a row that is removed in between has its last entry there.
  const [[row], [challenge]] = await Promise.all([
    store.get('credits', [challengeId]),
    store.get('challenges', [challengeId]),
  ])
  const [audit, refunds] = await Promise.all([store.audit(challengeId), store.list('refunds', challengeId)])
  const lot = lotOfSale(row, audit, Date.now())
  if (!lot || !challenge) return undefined
  const { granted, spent, status, payer, planId } = lot
  const { reserved, outstanding, expired, closed, lost } = figuresOf([lot])
  const refunded = refunds.filter(({ key, phase }) => key === challenge.receipt && phase === 'DONE')
  const closedAt = audit.find(({ event }) => event === 'credits-closed')?.at
  const { resourceId, network, asset, amount } = challenge
  return {
    soldAt: new Date(at).toISOString(),
    ...{ challengeId, requestId, planId, resourceId, payer, network, status },
    testnet: find(network, asset)?.testnet ?? null,
    ...{ granted, spent, reserved, outstanding, expired, closed, lost },
    expiresAt: lot.expiresAt === null ? null : new Date(lot.expiresAt).toISOString(),
    closedAt: closedAt === undefined ? null : new Date(closedAt).toISOString(),
    ...amounts('price', BigInt(amount)),
    ...amounts('refunded', sumMicro(refunded, find)),
    refundTxHashes: refunded.map(({ txHash }) => txHash ?? '').join(' '),
  }
}
