import { randomBytes } from 'node:crypto'
import { LOT_KEPT_MS, lotOf } from '../src/engine/ownership/lots.ts'
import type {
  AuditEntry,
  AuthorizationRow,
  ChallengeRow,
  Put,
  ReceiptRow,
  Step,
  WalletTxRow,
} from '../src/ports.ts'
import type { Address, Hex } from '../src/protocol/hex.ts'

/** As many sales each payer has, however many there are in all. */
export const SALES_PER_PAYER = 50
export const PLAN_ID = 'basic'

const CHAIN_ID = 84532
const ASSET: Address = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
const NETWORK = `eip155:${CHAIN_ID}`
const RAIL = `${NETWORK}/${ASSET}/exact`
const MICRO = '10000'
const CHALLENGE_TTL_MS = 7_200_000
const TOKEN_TTL_SECONDS = 3600
/** Of a batch, per payment, and of its frame. */
const CALLDATA_BYTES = { each: 447, frame: 200 }
const RECEIPT_BYTES = { head: 110, body: 330, signature: 64 }

/** The wallet that sent the seeded payments: none that a measured gateway sends with, whose nonces must be its own. */
const WALLET: Address = `0x${'5e'.repeat(20)}`
const PAY_TO: Address = `0x${'5f'.repeat(20)}`

const hex = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`
const base64 = (bytes: number): string => randomBytes(bytes).toString('base64url')

/** The n-th payer of every seeded store. */
export const payerOf = (index: number): Address =>
  `0x${index.toString(16).padStart(8, '0')}${'ab'.repeat(16)}`

export interface Sold {
  challengeId: string
  requestId: string
  payer: Address
  txHash: Hex
  paidAt: number
}

interface BatchFacts {
  first: number
  count: number
  size: number
  /** Of the wallet's transaction. */
  nonce: number
  paidAt: number
}

interface Batch {
  step: Step
  sold: Sold[]
}

/**
 * The rows and log lines of sales that were paid in one transaction, as they are when everything about them is over:
 * delivered and final. `first` is the number of the first one, of `count` in all.
 */
export function finishedBatch({ first, count, size, nonce, paidAt }: BatchFacts): Batch {
  const walletTx = walletTxKey(nonce)
  const [txHash, blockHash] = [hex(32), hex(32)]
  const payers = Math.max(1, Math.floor(count / SALES_PER_PAYER))
  const sales = Array.from({ length: size }, (_, index) => {
    const payer = payerOf((first + index) % payers)
    return finishedSale({ payer, paidAt, txHash, blockHash, walletTx, index })
  })
  const members = sales.map(({ payment }) => ({ kind: 'payment' as const, key: payment }))
  const row: WalletTxRow = {
    ...{ key: walletTx, version: 0, ref: null, dueAt: null },
    ...{ chainId: CHAIN_ID, wallet: WALLET, nonce, calls: [], members },
    ...{ maxFeePerGas: '3000000000', maxPriorityFeePerGas: '1000000000', gas: 160_000 * size },
    raw: hex(CALLDATA_BYTES.frame + size * CALLDATA_BYTES.each),
    ...{ hashes: [txHash], phase: 'MINED', createdAt: paidAt - 30 },
  }
  return {
    step: {
      puts: [...sales.flatMap(({ puts }) => puts), { table: 'walletTxs', row }],
      // The claims of a batch are logged when it is sent, and the rest when it is mined.
      audit: [...sales.map(({ claimed }) => claimed), ...sales.flatMap(({ settled }) => settled)],
    },
    sold: sales.map(({ sold }) => sold),
  }
}

const walletTxKey = (nonce: number): string => `${CHAIN_ID}:${WALLET}:${String(nonce).padStart(10, '0')}`

interface Facts {
  payer: Address
  paidAt: number
  txHash: Hex
  blockHash: Hex
  walletTx: string
  /** In its transaction. */
  index: number
}

function finishedSale({ payer, paidAt, txHash, blockHash, walletTx, index }: Facts) {
  const createdAt = Math.floor((paidAt - 300) / 1000) * 1000
  const expiresAt = createdAt + CHALLENGE_TTL_MS
  const challengeId = challengeIdOf(expiresAt)
  const requestId = `req-${base64(16)}`
  const nonce = hex(32)
  const payment = `${CHAIN_ID}:${ASSET}:${payer}:${nonce}`
  const base = { version: 0, ref: challengeId, dueAt: null }
  const iat = Math.floor(paidAt / 1000)
  const result = {
    ...{ iss: 'http://127.0.0.1:42681', sub: payer, walletAddress: payer },
    ...{
      aud: 'https://api.example.com/v1/default',
      jti: challengeId,
      planId: PLAN_ID,
      resourceId: 'default',
    },
    ...{ txHash, iat, exp: iat + TOKEN_TTL_SECONDS },
  }
  const challenge: ChallengeRow = {
    ...{ key: challengeId, version: 0, ref: null, dueAt: null, requestId, transport: 'http', kind: 'plan' },
    ...{ itemId: PLAN_ID, resourceId: 'default', resource: null, fingerprint: hex(32).slice(2) },
    ...{ amount: MICRO, rail: RAIL, network: NETWORK, asset: ASSET, payTo: PAY_TO, clientAgentId: null },
    ...{ createdAt, expiresAt, state: 'DELIVERED', claimed: true, liveAuth: null, receipt: payment, payer },
    ...{ txHash, paidAt, leaseUntil: null, deliveryTries: 1, failure: null, result: JSON.stringify(result) },
    ...{ refundTxHash: null, tries: 1, paidByKey: true },
    signedReceipt: [RECEIPT_BYTES.head, RECEIPT_BYTES.body, RECEIPT_BYTES.signature].map(base64).join('.'),
  }
  const authorization: AuthorizationRow = {
    ...{ ...base, key: payment, challengeId, rail: RAIL },
    auth: {
      ...{ from: payer, to: PAY_TO, value: MICRO, validAfter: '0', validBefore: String(iat + 1200) },
      ...{ nonce, signature: hex(65) },
    },
    ...{ payer, value: MICRO, saltHash: hex(32).slice(2) },
    claim: { requestId, at: paidAt - 150, openedAt: createdAt },
    ...{ phase: 'CONFIRMED', byKey: true, fromHeight: 0, walletTx, sends: 1, batchLimit: null, reason: null },
  }
  const receipt: ReceiptRow = {
    ...{ ...base, key: payment, challengeId, rail: RAIL, source: { kind: 'payment' }, role: 'pays', payer },
    ...{ value: MICRO, txHash, logIndex: 2 * index + 1, blockNumber: iat, blockHash, fromHeight: 0 },
    ...{ finalized: true, lost: false },
  }
  const puts: Put[] = [
    { table: 'challenges', row: challenge },
    { table: 'requests', row: { key: requestId, version: 0, ref: null, dueAt: null, challengeId } },
    { table: 'authorizations', row: authorization },
    { table: 'receipts', row: receipt },
  ]
  const lot = lotOf(challenge, result.exp * 1000)
  // The jobs have removed the lots of access that is over.
  if (lot && result.exp * 1000 + LOT_KEPT_MS > Date.now()) puts.push({ table: 'lots', row: lot })
  const entry = { challengeId, requestId }
  const details = { value: MICRO, payer }
  const claimed: AuditEntry = {
    ...{ ...entry, at: paidAt - 150, event: 'payment-claimed', fromState: 'PENDING', toState: 'PENDING' },
    ...{ actor: 'buyer', details: { payer, openedAt: createdAt, loggedAt: paidAt - 150 } },
  }
  const settled: AuditEntry[] = [
    {
      ...{ ...entry, at: paidAt, event: 'paid', fromState: 'PENDING', toState: 'PAID', actor: 'gateway' },
      ...{ txHash, details },
    },
    {
      ...{ ...entry, at: paidAt, event: 'delivered', fromState: 'PAID', toState: 'DELIVERED' },
      ...{ actor: 'gateway', txHash, details },
    },
  ]
  return { puts, claimed, settled, payment, sold: { challengeId, requestId, payer, txHash, paidAt } }
}

/** In the order of their times, as real ones are; what proves their terms is random here. */
function challengeIdOf(expiresAt: number): string {
  const bytes = randomBytes(34)
  bytes.writeUInt8(0x73, 0)
  bytes.writeUIntBE(Math.floor(expiresAt / 1000), 1, 5)
  return `http-${bytes.toString('base64url')}`
}
