import type { Dossier } from '../backstage.ts'
import type { ReceiptRow } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { CreditLot } from '../rules/credit-lot.ts'
import { networkOfRail } from '../rules/rail-id.ts'

/** What a sale of credits says of them. */
export interface LedgerCredits {
  /** By the log entry of the delivery. */
  sold: number
  /** Undefined: neither a row nor the log knows what became of them. */
  lot: CreditLot | undefined
}

/** One line of the ledger. */
export type LedgerEntry = Omit<Dossier, 'audit'> & {
  credits?: LedgerCredits
  /** Since when each refund is due (ms), by its key. */
  refundsDue?: Readonly<Record<string, number>>
}

/** What the comparison needs of a challenge: small enough to keep a long history in memory. */
export interface Account {
  id: string
  /**
   * The challenge itself is paid on the network that is compared. False: only a second payment for it came there,
   * and what is said of its delivery is said where it was paid.
   */
  own: boolean
  kind: Dossier['challenge']['kind']
  state: Dossier['challenge']['state']
  /** In micro-dollars; of a metered call the most that it could cost. */
  amount: string
  /** What a metered call cost, in units of the token. */
  chargedUnits: string | undefined
  createdAt: number
  paidAt: number | null
  receipt: string | null
  receipts: Receipt[]
  refunds: Refund[]
  credits: LedgerCredits | undefined
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
  /** When it became due (ms), or was last tried again by the operator; undefined: the log does not say. */
  dueSince: number | undefined
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
  /** How many entries have nothing to do with the network that is compared, by their own network. */
  foreign: Map<string, number>
}

export const placeKey = ({ txHash, logIndex }: { txHash: string; logIndex: number }): string =>
  `${txHash}:${logIndex}`

/** Reads the whole ledger. `onEntry` is called with the number of entries read so far. */
export async function indexLedger(
  entries: AsyncIterable<LedgerEntry>,
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
    foreign: new Map(),
  }
  let count = 0
  for await (const entry of entries) {
    count += 1
    onEntry(count)
    const { network } = entry.challenge
    const here = partOn(networkId, entry)
    if (here) add(index, here, network === networkId)
    else index.foreign.set(network, (index.foreign.get(network) ?? 0) + 1)
  }
  return index
}

type Entry = LedgerEntry

/** What of an entry happened on this network; undefined: nothing. Second payments may have come on another one. */
function partOn(networkId: string, { challenge, credits, refundsDue, ...rows }: Entry): Entry | undefined {
  const isHere = ({ rail }: { rail: string }) => networkOfRail(rail) === networkId
  const attempts = rows.attempts.filter(isHere)
  const receipts = rows.receipts.filter(isHere)
  const refunds = rows.refunds.filter(isHere)
  const moved = attempts.length + receipts.length + refunds.length > 0
  return moved || challenge.network === networkId
    ? {
        challenge,
        attempts,
        receipts,
        refunds,
        ...(credits && { credits }),
        ...(refundsDue && { refundsDue }),
      }
    : undefined
}

function add(
  index: LedgerIndex,
  { challenge, attempts, receipts, refunds, credits, refundsDue }: Entry,
  own: boolean,
): void {
  const { key: id, kind, state, amount, chargedUnits, createdAt, paidAt, receipt } = challenge
  const account: Account = {
    id,
    own,
    kind,
    state,
    amount,
    chargedUnits,
    createdAt,
    paidAt,
    receipt,
    receipts: [],
    refunds: [],
    credits,
  }
  index.accounts.push(account)
  if (own) index.payTos.add(challenge.payTo)
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
    const dueSince = refundsDue?.[key]
    account.refunds.push({
      ...{ key, account, movesState, recipient, value, phase, fromHeight, dueSince, txHash, reason },
    })
  }
}
