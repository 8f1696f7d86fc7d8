import type { WalletState } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import type { FeePolicy } from '../protocol/network.ts'
import { greatest, weiOf } from './gas-fees.ts'
import type { Rpc } from './rpc.ts'
import { readBig, readNumber, readRecord } from './rpc-values.ts'

/** Base's usual tip, for chains without `eth_maxPriorityFeePerGas`. */
const DEFAULT_PRIORITY_FEE_WEI = 1_000_000n

/** A wallet, and what gas costs now. */
export async function readWalletState(
  rpc: Rpc,
  address: Address,
  { minTipGwei, legacy }: FeePolicy,
): Promise<WalletState> {
  const [nonce, balance, fees] = await Promise.all([
    rpc.call('eth_getTransactionCount', [address, 'latest']),
    rpc.call('eth_getBalance', [address, 'latest']),
    legacy ? readGasPrice(rpc) : readFees(rpc),
  ])
  return {
    nonce: readNumber(nonce, 'nonce'),
    balanceWei: readBig(balance, 'balance'),
    baseFeeWei: fees.baseFeeWei,
    priorityFeeWei: greatest(fees.priorityFeeWei, weiOf(minTipGwei)),
  }
}

type NowFees = Pick<WalletState, 'baseFeeWei' | 'priorityFeeWei'>

async function readFees(rpc: Rpc): Promise<NowFees> {
  const [block, tip] = await Promise.all([
    rpc.call('eth_getBlockByNumber', ['latest', false]),
    rpc.attempt('eth_maxPriorityFeePerGas', []),
  ])
  return {
    baseFeeWei: readBig(readRecord(block, 'block').baseFeePerGas, 'base fee'),
    priorityFeeWei: tip.ok ? readBig(tip.result, 'priority fee') : DEFAULT_PRIORITY_FEE_WEI,
  }
}

/** Without a base fee, the whole price is a tip. */
async function readGasPrice(rpc: Rpc): Promise<NowFees> {
  return {
    baseFeeWei: 0n,
    priorityFeeWei: readBig(await rpc.call('eth_gasPrice', []), 'gas price'),
  }
}
