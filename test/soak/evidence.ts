import type { CreditBalance } from '../../src/buyer/index.ts'
import type { Hex } from '../../src/protocol/hex.ts'
import type { LedgerEntry } from '../../src/server/admin/read-ledger.ts'
import { type DevChain, usdcAbi } from '../../src/testing/index.ts'
import type { ReceivedEvent } from '../e2e/webhook-receiver.ts'
import type { Hands } from './deal.ts'
import { ADMIN_TOKEN, type Site } from './site.ts'

/** One Transfer of the token to or from the seller, as the chain logged it. */
export interface Movement {
  from: Hex
  to: Hex
  value: bigint
  txHash: Hex
  logIndex: number
}

/** All that is known at the end, each of a source of its own. */
export interface Evidence {
  seller: Hex
  chain: Movement[]
  ledger: LedgerEntry[]
  hands: Hands
  /** By wallet: how much less it holds than at the start. */
  spent: Map<Hex, bigint>
  events: ReceivedEvent[]
  forged: string[]
  /** By wallet, as the shop tells it. */
  balances: Map<Hex, Pick<CreditBalance, 'granted' | 'spent' | 'reserved'>>
  /** What the backend named for metered calls, by challenge. */
  charges: Map<string, bigint[]>
}

const BLOCKS_AT_ONCE = 2_000n

export async function readMovements({ client, usdc }: DevChain, seller: Hex): Promise<Movement[]> {
  const all: Movement[] = []
  const last = await client.getBlockNumber()
  for (let from = 0n; from <= last; from += BLOCKS_AT_ONCE) {
    const logs = await client.getContractEvents({
      ...{ address: usdc, abi: usdcAbi, eventName: 'Transfer', strict: true },
      ...{ fromBlock: from, toBlock: from + BLOCKS_AT_ONCE - 1n },
    })
    for (const { args, transactionHash, logIndex } of logs) {
      const [payer, payee] = [args.from.toLowerCase() as Hex, args.to.toLowerCase() as Hex]
      if (payer !== seller && payee !== seller) continue
      all.push({ from: payer, to: payee, value: args.value, txHash: transactionHash, logIndex })
    }
  }
  return all
}

const operator = { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }

export async function readLedger({ instances }: Pick<Site, 'instances'>): Promise<LedgerEntry[]> {
  const response = await fetch(`${instances[0]!.origin}/admin/api/ledger`, operator)
  const text = await response.text()
  if (!response.ok) throw new Error(`the ledger answered ${response.status}: ${text.slice(0, 300)}`)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerEntry)
}

export async function readBalances({ instances }: Site, { accounts }: Hands): Promise<Evidence['balances']> {
  const balances: Evidence['balances'] = new Map()
  for (const [payer, { token }] of accounts) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${instances[0]!.origin}/x402/credits`, { headers })
    balances.set(payer, (await response.json()) as CreditBalance)
  }
  return balances
}

const LIVE = new Set(['CLAIMED', 'CHARGED', 'BROADCAST', 'ABANDONED'])
const ENDED = new Set(['DELIVERED', 'REFUNDED', 'EXPIRED', 'CANCELLED'])

/** What is not over yet, by the ledger's own account. */
export function openWork(ledger: readonly LedgerEntry[]): string[] {
  return ledger.flatMap(({ challenge, attempts, receipts, refunds }) => {
    const { key, state } = challenge
    // A challenge whose payment failed for certain waits for another one until it expires.
    const waits = state === 'PENDING' && receipts.length === 0
    return [
      ...(ENDED.has(state) || waits ? [] : [`challenge ${key} is ${state}`]),
      ...attempts.filter(({ phase }) => LIVE.has(phase)).map((one) => `attempt ${one.key} is ${one.phase}`),
      ...receipts.filter(({ finalized }) => !finalized).map((one) => `receipt ${one.key} is not final`),
      ...refunds
        .filter(({ phase }) => phase !== 'DONE' && phase !== 'VOID')
        .map((one) => `refund ${one.key} is ${one.phase}`),
    ]
  })
}
