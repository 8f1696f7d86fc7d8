import { privateKeyToAddress } from 'viem/accounts'
import { ConfigError } from '../errors.ts'
import type { Address } from '../protocol/hex.ts'
import { type Reconciliation, reconcile } from '../reconcile/reconcile.ts'
import type { LedgerEntry } from '../server/admin/read-ledger.ts'
import { complete, load } from './load.ts'
import { linesOf, type OpenBackstage, openBackstage } from './open-backstage.ts'
import { findingLine, type Report, type Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

/** Compares the chain with the ledger; the exit code is 1 if there is an error, so that cron reports it. */
export async function reconcileBooks(
  terminal: Terminal,
  { json, fromBlock }: { json: boolean; fromBlock: string | undefined },
): Promise<Report> {
  if (fromBlock !== undefined && !/^\d{1,15}$/.test(fromBlock)) {
    throw new ConfigError([
      `--from-block is ${JSON.stringify(fromBlock)}; it must be a block's number, for example --from-block 21000000.`,
    ])
  }
  const loaded = await load(terminal)
  const { network, walletAddress, refundWalletPrivateKey } = complete(loaded)
  const backstage = await openBackstage(loaded, 'look')
  const waiting = await startWaiting(terminal, json, 'Reading the books')
  try {
    const result = await reconcile(
      {
        network,
        walletAddress,
        refundWallet: refundWalletPrivateKey
          ? (privateKeyToAddress(refundWalletPrivateKey).toLowerCase() as Address)
          : undefined,
        ledger: () => readLedger(backstage),
        fromBlock: fromBlock === undefined ? undefined : Number(fromBlock),
        nowMs: Date.now(),
      },
      {
        onEntry: (count) => waiting.at(count, undefined),
        onBlock: (done, total) => waiting.at(done, total, 'Reading the chain, block'),
      },
    )
    return describe(result, backstage)
  } finally {
    waiting.end()
    await backstage.close()
  }
}

async function* readLedger(backstage: OpenBackstage): AsyncGenerator<LedgerEntry> {
  for await (const line of linesOf(await backstage.ask('/ledger'))) yield JSON.parse(line) as LedgerEntry
}

function describe(result: Reconciliation, { via, place }: OpenBackstage): Report {
  const { found, fromBlock, toBlock, challenges, movements, refundsWaiting, foreign, network } = result
  const failed = found.some(({ level }) => level === 'error')
  const width = Math.max(0, ...found.map(({ kind }) => kind.length))
  const lines = found.map(({ kind, level, challengeId, txHash, message, fix }) => {
    const where = [challengeId, txHash].filter((id) => id !== null).join(' ')
    return findingLine({ name: kind, level, message: `${where}: ${message}`, fix }, width)
  })
  const errors = found.filter(({ level }) => level === 'error').length
  const summary = [
    `${network}, blocks ${fromBlock} to ${toBlock}`,
    `${challenges} paid challenges of ${place}`,
    `${movements.incoming} transfers in, ${movements.outgoing} out`,
    ...(refundsWaiting > 0 ? [`${refundsWaiting} refunds on their way`] : []),
    ...(foreign > 0 ? [`${foreign} challenges of other networks left out`] : []),
  ].join(' · ')
  const verdict = failed
    ? `${errors} ${errors === 1 ? 'thing does' : 'things do'} not agree.`
    : 'Chain and ledger agree.'
  return {
    lines: [...lines, summary, verdict],
    json: { ok: !failed, via, ...result, found },
    failed,
  }
}
