import type { Backstage } from '../../backstage.ts'
import { assetOfRail, networkOfRail } from '../../rules/rail-id.ts'
import { creditsOfSale } from './credits-pages.ts'
import { sumMicro } from './export-sales.ts'
import { knownNetworks } from './known-networks.ts'
import { showSale } from './sale.ts'

/** One challenge and everything that happened to it; undefined: nothing is stored under this id. */
export async function challengePage({ inspect, networks, store }: Backstage, challengeId: string) {
  // Read before the log: a row that is removed in between has its last entry there.
  const [creditRow] = await store.get('credits', [challengeId])
  const dossier = await inspect(challengeId)
  if (!dossier) return undefined
  const { challenge, attempts, receipts, refunds, audit } = dossier
  const { key, requestId, state, expiresAt, failure, resource, txHash, refundTxHash, prunedAt } = challenge
  const find = await knownNetworks(store, networks)
  const known = find(challenge.network, challenge.asset)
  const explorer = known?.explorerTxUrl
  /** The network of a receipt or refund, which may be another than the challenge's own. */
  const place = (rail: string, txHash: string | null) => {
    const network = networkOfRail(rail)
    const url = find(network, assetOfRail(rail))?.explorerTxUrl
    return { network, explorerUrl: url && txHash ? url + txHash : null }
  }
  // A token that nobody knows is shown as if it had six decimals.
  const micro = (row: { rail: string; value: string }) => sumMicro([row], find)?.toString() ?? row.value
  const iso = (at: number) => new Date(at).toISOString()
  const credits = creditsOfSale(challenge.amount, creditRow, audit, Date.now())
  return {
    challenge: {
      ...showSale({ challengeId: key, requestId, state }, challenge),
      expiresAt: iso(expiresAt),
      failure,
      resource,
      prunedAt: prunedAt === undefined ? null : iso(prunedAt),
    },
    timeline: audit.map(({ seq, at, event, fromState, toState, actor, txHash: hash, details }) => ({
      seq,
      at: iso(at),
      event,
      fromState,
      toState,
      actor,
      txHash: hash ?? null,
      details: details ?? null,
    })),
    attempts,
    receipts: receipts.map((row) => {
      const { role, payer, txHash: hash, blockNumber, finalized, lost, rail } = row
      const receipt = { role, payer, micro: micro(row), txHash: hash, blockNumber, finalized, lost }
      return { ...receipt, ...place(rail, hash) }
    }),
    refunds: refunds.map((row) => {
      const { movesState, recipient, phase, attempts: tries, txHash: hash, reason, rail } = row
      const refund = { recipient, micro: micro(row), phase, attempts: tries, txHash: hash, reason }
      const ofCredits = !movesState && row.key === challenge.receipt
      return { surplus: !movesState && !ofCredits, credits: ofCredits, ...refund, ...place(rail, hash) }
    }),
    ...(credits && { credits }),
    explorer: {
      ...(explorer && txHash !== null && { tx: `${explorer}${txHash}` }),
      ...(explorer && refundTxHash !== null && { refundTx: `${explorer}${refundTxHash}` }),
    },
    ...(networks.length > 1 && { networkName: known?.name ?? challenge.network }),
  }
}
