import type { Dossier } from '../../src/engine/outcome.ts'
import type { AuditEntry, ChallengeRow } from '../../src/ports.ts'
import type { ChallengeStatus } from '../../src/protocol/access.ts'
import { buildCatalog } from '../../src/rules/catalog.ts'
import { createHttpHandler, type HttpHandlerOptions } from '../../src/transports/http/create-http-handler.ts'
import { createReceiptPage } from '../../src/transports/http/receipt-page.ts'
import { TESTNET } from '../engine/test-rail.ts'
import { PAYER, testChallenge } from '../engine/test-rows.ts'
import { sampleDialects } from './sample-x402.ts'

const PAID_AT = Date.UTC(2026, 10, 16, 9, 30)
/** As long as a real one. */
const jws = (letter: string) => `eyJ${letter.repeat(150)}.eyJ${letter.repeat(420)}.${letter.repeat(86)}`
export const SEALED = 'the sealed result'

function dossier(change: Partial<ChallengeRow> & { key: string }, events: string[]): Dossier {
  const paid = { payer: PAYER, txHash: `0x${'ab'.repeat(32)}`, paidAt: PAID_AT, amount: '1250000' } as const
  const challenge = testChallenge({ ...paid, receipt: 'pays', result: SEALED, ...change })
  const audit = events.map((event, index) => ({ event, at: PAID_AT + index * 61_000, seq: index }) as unknown)
  return {
    challenge,
    attempts: [],
    receipts: [],
    refunds: [],
    audit: audit as Array<AuditEntry & { seq: number }>,
  }
}

/** One purchase of each kind, by its id. */
export const PURCHASES: Record<string, Dossier> = {
  paid: dossier({ key: 'paid', itemId: 'basic', state: 'DELIVERED', signedReceipt: jws('a') }, [
    'paid',
    'delivered',
  ]),
  call: dossier(
    {
      ...{ key: 'call', kind: 'route', itemId: 'weather', state: 'DELIVERED', signedReceipt: jws('c') },
      resource: { method: 'GET', path: `/weather/paris?notes=${'very-long-'.repeat(30)}` },
    },
    ['paid', 'delivered'],
  ),
  metered: dossier(
    {
      ...{ key: 'metered', kind: 'route', itemId: 'weather', state: 'DELIVERED', signedReceipt: jws('d') },
      ...{ resource: { method: 'GET', path: '/weather/paris' }, charged: '1858', chargedUnits: '1858' },
    },
    ['paid', 'delivered'],
  ),
  free: dossier(
    {
      ...{ key: 'free', kind: 'route', itemId: 'weather', state: 'DELIVERED', txHash: null, receipt: null },
      ...{ resource: { method: 'GET', path: '/weather/paris' }, charged: '0', chargedUnits: '0' },
    },
    ['paid', 'delivered'],
  ),
  refunded: dossier(
    {
      ...{ key: 'refunded', itemId: 'basic', state: 'REFUNDED', signedRefund: jws('b') },
      ...{ refundTxHash: `0x${'cd'.repeat(32)}`, result: null },
    },
    ['paid', 'delivery-failed', 'refund-confirmed'],
  ),
  failed: dossier({ key: 'failed', itemId: 'basic', state: 'REFUND_FAILED', result: null }, ['paid']),
  waiting: dossier({ key: 'waiting', itemId: 'basic', state: 'PAID', result: null }, ['paid']),
}

/** The gateway's HTTP side over these purchases; `unpaid` is a challenge that was issued and never stored. */
export function sampleShop(
  baseUrl: string,
  options: Partial<HttpHandlerOptions> = {},
  logoUrl: string | null = null,
) {
  const engine = {
    inspect: async (id: string) => PURCHASES[id],
    status: async (id: string): Promise<ChallengeStatus | undefined> =>
      id === 'unpaid'
        ? { challengeId: id, state: 'PENDING', expiresAt: '2026-11-16T10:00:00.000Z' }
        : undefined,
  }
  const catalog = buildCatalog(
    [{ planId: 'basic', unitAmount: '$1.25', description: 'One hour of <b>forecasts</b> & maps' }],
    [
      {
        ...{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$1.25' },
        description: 'One city',
      },
    ],
  )
  const page = createReceiptPage({
    ...{ engine, baseUrl, seller: 'Weather & Co', logoUrl, networks: [TESTNET], catalog },
  })
  return createHttpHandler({
    engine: {
      ...engine,
      offer: () => undefined,
      purchase: () => Promise.reject(new Error('nothing is sold here')),
    },
    dialects: sampleDialects(baseUrl),
    discovery: {
      ...{ agentName: 'Weather & Co', description: '', walletAddress: '0x', network: TESTNET.id },
      ...{ chainId: 84532, asset: '0x', plans: [], routes: [] },
    },
    baseUrl,
    version: '0.0.0',
    networkIds: [TESTNET.id],
    storeName: 'memory',
    limits: { maxBodyBytes: 1000, requestTimeoutMs: 1000 },
    uptimeSeconds: () => 0,
    ready: async () => ({ ok: true, checks: {} }),
    onError: () => {},
    receipts: { page, didDocument: { id: 'did:web:shop.example' }, didPaths: ['/.well-known/did.json'] },
    ...options,
  })
}
