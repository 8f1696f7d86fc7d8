import type {
  AuthorizationRow,
  BatchMember,
  ChallengeRow,
  ReceiptRow,
  RefundRow,
  Store,
  TableName,
  Tables,
  WalletTxRow,
} from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { railId } from '../rules/rail-id.ts'

/**
 * The same store; rows that an earlier version stored are read as this version writes them. That version knew one chain,
 * one token and one scheme, so that what its rows lack follows from their keys. A row is stored anew only when something
 * happens to it.
 */
export function withCurrentRows(store: Store): Store {
  // Named one by one: a seller's own store may be a class, whose methods a spread leaves out.
  return {
    name: store.name,
    exclusive: store.exclusive,
    commit: (step) => store.commit(step),
    audit: (challengeId) => store.audit(challengeId),
    log: (afterSeq, limit) => store.log(afterSeq, limit),
    ping: () => store.ping(),
    close: () => store.close(),
    ...(store.listDue && {
      async listDue(table, offset, limit) {
        return (await store.listDue!(table, offset, limit)).map((row) => currentRow(table, row))
      },
    }),
    ...(store.onCommitted && { onCommitted: (listener) => store.onCommitted!(listener) }),
    ...(store.admitSeveralNetworks && { admitSeveralNetworks: () => store.admitSeveralNetworks!() }),
    ...(store.snapshot && { snapshot: () => store.snapshot!() }),
    async get(table, keys) {
      const rows = await store.get(table, keys)
      return rows.map((row) => row && currentRow(table, row))
    },
    async list(table, ref) {
      return (await store.list(table, ref)).map((row) => currentRow(table, row))
    },
    async takeDue(table, nowMs, untilMs, limit) {
      return (await store.takeDue(table, nowMs, untilMs, limit)).map((row) => currentRow(table, row))
    },
  }
}

const READERS: { [N in TableName]?: (row: Tables[N]) => Tables[N] } = {
  challenges: (row) => (row.rail === undefined ? currentChallenge(row) : row),
  authorizations: (row) => (row.rail === undefined ? currentAuthorization(row) : row),
  receipts: (row) => (row.rail === undefined ? currentReceipt(row) : row),
  refunds: (row) => (row.rail === undefined ? currentRefund(row) : row),
  walletTxs: (row) => (row.chainId === undefined ? currentWalletTx(row) : row),
}

function currentRow<N extends TableName>(table: N, row: Tables[N]): Tables[N] {
  return READERS[table]?.(row) ?? row
}

const exactRail = (network: string, address: Address): string =>
  railId({ id: network, token: { address } }, 'exact')

/** Of `chainId:token:payer:nonce`, or of `chainId:txHash:plain-N`: then the token is the one of its network. */
function railOfKey(key: string): string {
  const [chainId, token] = key.split(':')
  const network = `eip155:${chainId}`
  const plain = ORDINAL.test(key) ? findNetwork(network)?.token.address : undefined
  return exactRail(network, plain ?? (token as Address))
}

function currentChallenge(row: ChallengeRow & { askedAs?: string }): ChallengeRow {
  const { askedAs, ...rest } = row
  return {
    ...rest,
    rail: exactRail(row.network, row.asset),
    ...(askedAs !== undefined && { offeredRequestId: askedAs }),
  }
}

interface EarlierAuthorization extends Omit<AuthorizationRow, 'auth'> {
  auth: { from: Address; value: string }
  packLimit?: number | null
}

function currentAuthorization(row: AuthorizationRow): AuthorizationRow {
  const { packLimit = null, ...rest } = row as EarlierAuthorization
  const { from: payer, value } = rest.auth
  return { ...rest, auth: row.auth, rail: railOfKey(row.key), payer, value, batchLimit: packLimit }
}

const ORDINAL = /:plain-(\d+)$/

function currentReceipt(row: ReceiptRow): ReceiptRow {
  const ordinal = ORDINAL.exec(row.key)?.[1]
  if (ordinal === undefined) return { ...row, rail: railOfKey(row.key), source: { kind: 'payment' } }
  const source = { kind: 'transfer' as const, ordinal: Number(ordinal) }
  return { ...row, rail: railOfKey(row.key), source }
}

function currentRefund(row: RefundRow): RefundRow {
  return { ...row, rail: railOfKey(row.key) }
}

function currentWalletTx(row: WalletTxRow): WalletTxRow {
  const keys = row.members as unknown as string[]
  const calls = row.calls as ReadonlyArray<{ from?: string; nonce?: string }>
  const members = keys.map((key, index): BatchMember => {
    const call = calls[index]
    // Refunds went by the key of the payment that they return, which is not that of the refund itself.
    const isPayment = !call || key.endsWith(`:${call.from}:${call.nonce}`)
    return { kind: isPayment ? 'payment' : 'refund', key }
  })
  return { ...row, members, chainId: chainIdOf(row.raw) }
}

/** The first field of a transaction of type 2: after its type and the length of the list. */
function chainIdOf(raw: Hex): number {
  const bytes = Buffer.from(raw.slice(4), 'hex')
  const first = bytes[0]!
  const offset = first > 0xf7 ? first - 0xf7 + 1 : 1
  const head = bytes[offset]!
  if (head < 0x80) return head
  return bytes.readUIntBE(offset + 1, head - 0x80)
}
