import type { Dossier } from '../backstage.ts'
import type { ReceiptRow } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'

/** What the comparison needs of a challenge: small enough to keep a long history in memory. */
export interface Account {
  id: string
  state: Dossier['challenge']['state']
  amount: string
  createdAt: number
  paidAt: number | null
  receipt: string | null
  receipts: Receipt[]
  refunds: Refund[]
}

export type Receipt = Pick<
  ReceiptRow,
  'key' | 'role' | 'payer' | 'value' | 'txHash' | 'logIndex' | 'blockNumber' | 'lost'
> & { account: Account }

export interface Refund {
  key: string
  account: Account
  movesState: boolean
  recipient: Address
  value: string
  phase: Dossier['refunds'][number]['phase']
  /** The block of the receipt; its refund can only be in a later one. */
  fromHeight: number
  txHash: Hex | null
  reason: string | null
}

export interface LedgerIndex {
  accounts: Account[]
  receipts: Map<string, Receipt>
  /** By transaction and log. */
  byPlace: Map<string, Receipt>
  byPayer: Map<Address, Receipt[]>
  /** Payments that were claimed and have no receipt, with their challenge. */
  unsettled: Map<string, string>
  payTos: Set<Address>
  /** The lowest height at which any of these payments can have landed. */
  fromHeight: number | undefined
  /** Entries of another network than the one that is compared. */
  foreign: number
}

export const placeKey = ({ txHash, logIndex }: { txHash: string; logIndex: number }): string =>
  `${txHash}:${logIndex}`

/** Reads the whole ledger. `onEntry` is called with the number of entries read so far. */
export async function indexLedger(
  entries: AsyncIterable<Omit<Dossier, 'audit'>>,
  networkId: string,
  onEntry: (count: number) => void,
): Promise<LedgerIndex> {
  const index: LedgerIndex = {
    accounts: [],
    receipts: new Map(),
    byPlace: new Map(),
    byPayer: new Map(),
    unsettled: new Map(),
    payTos: new Set(),
    fromHeight: undefined,
    foreign: 0,
  }
  let count = 0
  for await (const entry of entries) {
    count += 1
    onEntry(count)
    if (entry.challenge.network === networkId) add(index, entry)
    else index.foreign += 1
  }
  return index
}

function add(index: LedgerIndex, { challenge, attempts, receipts, refunds }: Omit<Dossier, 'audit'>): void {
  const { key: id, state, amount, createdAt, paidAt, receipt } = challenge
  const account: Account = { id, state, amount, createdAt, paidAt, receipt, receipts: [], refunds: [] }
  index.accounts.push(account)
  index.payTos.add(challenge.payTo)
  for (const row of receipts) {
    const { key, role, payer, value, txHash, logIndex, blockNumber, lost } = row
    const kept: Receipt = { key, role, payer, value, txHash, logIndex, blockNumber, lost, account }
    account.receipts.push(kept)
    index.receipts.set(key, kept)
    index.byPlace.set(placeKey(row), kept)
    const ofPayer = index.byPayer.get(payer)
    if (ofPayer) ofPayer.push(kept)
    else index.byPayer.set(payer, [kept])
    index.fromHeight = Math.min(index.fromHeight ?? row.fromHeight, row.fromHeight)
  }
  for (const { key } of attempts) if (!index.receipts.has(key)) index.unsettled.set(key, id)
  for (const row of refunds) {
    const { key, movesState, recipient, value, phase, fromHeight, txHash, reason } = row
    account.refunds.push({ key, account, movesState, recipient, value, phase, fromHeight, txHash, reason })
  }
}
