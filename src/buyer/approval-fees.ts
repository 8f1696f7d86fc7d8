import { z } from 'zod'
import type { Hex } from '../protocol/hex.ts'
import { NETWORKS } from '../protocol/networks.ts'
import type { Ask } from './rpc-call.ts'

export type ApprovalFees = { gas: bigint } & (
  | { type: 'eip1559'; maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }
  | { type: 'legacy'; gasPrice: bigint }
)

/** Several times what an approval takes anywhere: a node that asks for more is wrong, or lies. */
const MAX_GAS = 1_000_000n
const GWEI = 1_000_000_000n
const Quantity = z.string().regex(/^0x[0-9a-f]+$/i)
const BlockSchema = z.object({ baseFeePerGas: Quantity.nullish() })

/** Gas and price of an approval. Throws if they are beyond reason, or beyond what the payer holds. */
export async function approvalFees(
  ask: Ask,
  network: string,
  transaction: { from: Hex; to: Hex; data: Hex },
): Promise<ApprovalFees> {
  const known = NETWORKS.find(({ id }) => id === network)
  const coin = known?.native.symbol ?? 'coins for gas'
  const quantity = async (method: string, params: unknown[]) =>
    BigInt(Quantity.parse(await ask(method, params)))
  const [block, price, held] = await Promise.all([
    ask('eth_getBlockByNumber', ['latest', false]),
    quantity('eth_gasPrice', []),
    quantity('eth_getBalance', [transaction.from, 'latest']),
  ])
  if (held === 0n) {
    throw new Error(`${transaction.from} holds no ${coin}, and an approval is a transaction that costs gas`)
  }
  const estimate = await quantity('eth_estimateGas', [transaction])
  const gas = (estimate * 6n) / 5n
  if (gas > MAX_GAS) throw new Error(`the RPC says that it takes ${estimate} gas, which cannot be`)
  const most = known && BigInt(known.fees.maxGwei) * GWEI
  if (most !== undefined && price > most) {
    throw new Error(`gas costs ${price / GWEI} gwei now; at most ${most / GWEI} are paid`)
  }
  const { baseFeePerGas } = BlockSchema.parse(block)
  // Twice the base fee lasts for several full blocks; what is not needed is not charged.
  const limit = 2n * price
  const maxFee = most !== undefined && limit > most ? most : limit
  const cost = gas * (baseFeePerGas ? maxFee : price)
  if (held < cost) {
    throw new Error(
      `it may cost ${inCoins(cost)} ${coin} of gas, and ${transaction.from} holds ${inCoins(held)}`,
    )
  }
  if (!baseFeePerGas) return { type: 'legacy', gas, gasPrice: price }
  const base = BigInt(baseFeePerGas)
  const tip = price > base ? price - base : 0n
  return { type: 'eip1559', gas, maxFeePerGas: maxFee, maxPriorityFeePerGas: tip }
}

/** Wei as coins, to six digits. */
function inCoins(wei: bigint): string {
  const micro = wei / 10n ** 12n
  return `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, '0')}`
}
