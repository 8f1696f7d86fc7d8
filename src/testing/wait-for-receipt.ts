import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Client,
  type Hash,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  WaitForTransactionReceiptTimeoutError,
} from 'viem'
import { getTransactionReceipt } from 'viem/actions'

const PAUSE_MS = 10
const TIMEOUT_MS = 180_000

/**
 * Instead of viem's action of this kind, which looks again only when there is a further block: on a chain that mines when
 * it is asked to there may be none, and a receipt that comes late is never seen.
 */
export async function waitForReceipt(
  client: Client,
  { hash, timeout = TIMEOUT_MS }: { hash: Hash; timeout?: number },
): Promise<TransactionReceipt> {
  for (const until = Date.now() + timeout; Date.now() < until; await sleep(PAUSE_MS)) {
    try {
      return await getTransactionReceipt(client, { hash })
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error
    }
  }
  throw new WaitForTransactionReceiptTimeoutError({ hash })
}
