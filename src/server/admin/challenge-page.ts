import type { Backstage } from '../../backstage.ts'
import { showSale } from './sale.ts'

/** One challenge and everything that happened to it; undefined: nothing is stored under this id. */
export async function challengePage({ inspect, network }: Backstage, challengeId: string) {
  const dossier = await inspect(challengeId)
  if (!dossier) return undefined
  const { challenge, attempts, receipts, refunds, audit } = dossier
  const { key, requestId, state, expiresAt, failure, resource, txHash, refundTxHash, prunedAt } = challenge
  const iso = (at: number) => new Date(at).toISOString()
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
    receipts: receipts.map(({ role, payer, value, txHash: hash, blockNumber, finalized, lost }) => {
      return { role, payer, micro: value, txHash: hash, blockNumber, finalized, lost }
    }),
    refunds: refunds.map(({ movesState, recipient, value, phase, attempts: tries, txHash: hash, reason }) => {
      return { surplus: !movesState, recipient, micro: value, phase, attempts: tries, txHash: hash, reason }
    }),
    explorer: {
      ...(txHash !== null && { tx: `${network.explorerTxUrl}${txHash}` }),
      ...(refundTxHash !== null && { refundTx: `${network.explorerTxUrl}${refundTxHash}` }),
    },
  }
}
