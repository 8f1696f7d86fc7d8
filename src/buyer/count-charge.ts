import { z } from 'zod'
import { UPTO_PROXY_ADDRESS } from '../protocol/permit2.ts'
import { shareOf } from './charge-of.ts'
import type { StoredPayment } from './payment-storage.ts'
import { reservationOf } from './reservations.ts'
import type { ReviewContext } from './review-reservations.ts'
import { askNodes, rpcCall } from './rpc-call.ts'
import { type SignedPermit, signedPermit } from './signed-payment.ts'

/** settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes) */
const SETTLE = '0xff11e7b4'
const PROOF_TIMEOUT_MS = 3_000
const TxHash = z.string().regex(/^0x[0-9a-f]{64}$/i)
const TransactionSchema = z.object({ to: z.string().nullable(), input: z.string() })
const ReceiptSchema = z.object({ status: z.string() })

/**
 * Lowers what a metered payment counts for from its maximum to its charge, if the chain shows the charge: the seller
 * could name a smaller one, and take the rest until the deadline. Whatever cannot be shown leaves the maximum.
 */
export async function countCharge(
  { fetch: fetchOnce, storage, rpcUrlsOf }: ReviewContext,
  payment: StoredPayment,
  txHash: string,
): Promise<void> {
  const permit = signedPermit(payment)
  if (!permit || !storage.charge || !TxHash.safeParse(txHash).success) return
  const signal = AbortSignal.timeout(PROOF_TIMEOUT_MS)
  const settled = await askNodes(rpcUrlsOf(payment.network), async (rpcUrl) => {
    const ask = (method: string, params: unknown[]) => rpcCall(fetchOnce, rpcUrl, method, params, signal)
    try {
      const [chainId, transaction, receipt] = await Promise.all([
        ask('eth_chainId', []),
        ask('eth_getTransactionByHash', [txHash]),
        ask('eth_getTransactionReceipt', [txHash]),
      ])
      const isDone = ReceiptSchema.parse(receipt).status === '0x1'
      const units = settledUnits(TransactionSchema.parse(transaction), permit)
      if (`eip155:${Number(chainId)}` === payment.network && isDone && units !== undefined)
        return { kind: 'charged' as const, units }
      return { kind: 'unknown', why: 'the transaction does not show the charge' }
    } catch {
      return { kind: 'unknown', why: 'the RPC does not know the transaction' }
    }
  })
  if (settled.kind === 'unknown') return
  await storage.charge(
    reservationOf(payment),
    shareOf(settled.units, permit.maxUnits, BigInt(payment.amount)),
  )
}

/**
 * What a call `settle(((token, max), nonce, deadline), amount, owner, …)` of the proxy charges of this very permit. A
 * permit can be used once, so that its mined call says all.
 */
export function settledUnits(
  { to, input }: { to: string | null; input: string },
  { from, nonce }: Pick<SignedPermit, 'from' | 'nonce'>,
): bigint | undefined {
  const word = (index: number): bigint | undefined => {
    const digits = input.slice(10 + 64 * index, 74 + 64 * index)
    return /^[0-9a-f]{64}$/i.test(digits) ? BigInt(`0x${digits}`) : undefined
  }
  if (to?.toLowerCase() !== UPTO_PROXY_ADDRESS || !input.toLowerCase().startsWith(SETTLE)) return undefined
  return word(2) === nonce && word(5) === BigInt(from) ? word(4) : undefined
}
