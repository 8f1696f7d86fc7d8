import type { AuditEntry, Put, RowBase, TableName, Tables } from '../ports.ts'

const address = `0x${'a1'.repeat(20)}` as const
const hash = `0x${'b2'.repeat(32)}` as const
const rail = `eip155:84532/${address}/exact`
const auth = {
  from: address,
  to: address,
  value: '1000000',
  validAfter: '0',
  validBefore: '1750000900',
  nonce: hash,
  signature: `0x${'c3'.repeat(65)}`,
}

/** Of each kind of row that a table has. */
type Body<R> = R extends RowBase ? Omit<R, keyof RowBase> : never

const bodies: { [N in TableName]: Body<Tables[N]> } = {
  challenges: {
    requestId: 'request-1',
    transport: 'http',
    kind: 'route',
    itemId: 'weather',
    resourceId: 'default',
    resource: { method: 'GET', path: '/weather?city=%C3%A9&q="\'\\' },
    fingerprint: 'f'.repeat(64),
    amount: '340282366920938463463374607431768211455',
    rail,
    network: 'eip155:84532',
    asset: address,
    payTo: address,
    clientAgentId: null,
    state: 'PENDING',
    createdAt: 1_750_000_000_000,
    expiresAt: Number.MAX_SAFE_INTEGER,
    claimed: false,
    liveAuth: null,
    receipt: null,
    payer: null,
    txHash: null,
    paidAt: null,
    leaseUntil: null,
    deliveryTries: 0,
    failure: null,
    result: null,
    refundTxHash: null,
  },
  requests: { challengeId: 'challenge-1' },
  authorizations: {
    challengeId: 'challenge-1',
    rail,
    auth,
    payer: address,
    value: '1000000',
    saltHash: null,
    phase: 'CLAIMED',
    fromHeight: 0,
    walletTx: null,
    sends: 0,
    batchLimit: null,
    reason: null,
  },
  receipts: {
    challengeId: 'challenge-1',
    rail,
    source: { kind: 'payment' },
    role: 'pays',
    payer: address,
    value: '1000000',
    txHash: hash,
    logIndex: 1,
    blockNumber: 30_000_000,
    blockHash: hash,
    fromHeight: 0,
    finalized: false,
    lost: false,
  },
  seen: { receipt: 'receipt-1' },
  refunds: {
    challengeId: 'challenge-1',
    rail,
    movesState: true,
    recipient: address,
    value: '1000000',
    auth: null,
    phase: 'WAITING',
    attempts: 0,
    fromHeight: 0,
    walletTx: null,
    txHash: null,
    reason: null,
  },
  walletTxs: {
    chainId: 84_532,
    wallet: address,
    nonce: 7,
    calls: [auth, auth],
    members: [
      { kind: 'payment', key: 'a' },
      { kind: 'refund', key: 'b' },
    ],
    maxFeePerGas: '1000000000',
    maxPriorityFeePerGas: '1',
    gas: 200_000,
    raw: `0x${'d4'.repeat(500)}`,
    hashes: [hash],
    phase: 'SENT',
    createdAt: 1_750_000_000_000,
  },
  outbox: { challengeId: 'challenge-1', event: 'payment-received' },
  holds: { subject: 'challenge-1', amount: 300_000, spent: false },
  lots: { network: 'eip155:84532', expiresAt: 1_750_086_400_000 },
  marks: { value: 7 },
  credits: {
    granted: 1000,
    spent: 12,
    reserved: [{ id: 'reservation-1', credits: 2, until: 1_750_000_060_000 }],
    expiresAt: 1_750_086_400_000,
    network: null,
    paidOn: 'eip155:84532',
    txHash: hash,
    requestId: 'request-1',
  },
  calls: {
    fingerprint: 'f0',
    reservation: 'reservation-1',
    until: 1_750_000_060_000,
    credits: 2,
    done: false,
    result: null,
  },
  webhooks: {
    endpoint: 'b2c3d4',
    eventId: 'evt_1',
    type: 'payment.settled',
    challengeId: 'challenge-1',
    requestId: 'request-1',
    facts: { at: 1_750_000_000_000, event: 'paid', state: 'PAID', txHash: hash, details: { value: '1' } },
    phase: 'WAITING',
    attempts: 1,
    since: 1_750_000_000_000,
    answers: [{ at: 1_750_000_000_500, status: 503, text: 'é "busy"' }],
  },
  books: { kind: 'term', pages: 1, sales: [[7, 'challenge-1']] },
}

export const ALL_TABLES = Object.keys(bodies) as TableName[]

/** A complete row of any table, new unless `base` is given. */
export function sampleRow<N extends TableName>(
  table: N,
  base: Partial<RowBase> & { key: string },
): Tables[N] {
  // Cloned, so that a check may change its row.
  const row = { version: 0, ref: null, dueAt: null, ...structuredClone(bodies[table]), ...base }
  return row as RowBase as Tables[N]
}

export function samplePut(table: TableName, base: Partial<RowBase> & { key: string }): Put {
  return { table, row: sampleRow(table, base) } as Put
}

export function sampleAudit(challengeId: string, event: string): AuditEntry {
  return {
    at: 1_750_000_000_000,
    challengeId,
    requestId: 'request-1',
    event,
    fromState: null,
    toState: 'PENDING',
    actor: 'buyer',
  }
}
