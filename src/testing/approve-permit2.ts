import { maxUint256 } from 'viem'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import type { DevAccount, DevChain } from './dev-chain.ts'
import { usdcAbi } from './usdc-abi.ts'

/** The owner lets Permit2 move this much of its tokens, as every wallet must once before its first `upto` payment. */
export async function approvePermit2(chain: DevChain, owner: DevAccount, micro = maxUint256): Promise<void> {
  await chain.fundEth(owner.address, 10n ** 18n)
  const hash = await chain.client.writeContract({
    ...{ account: owner.account, address: chain.usdc, abi: usdcAbi },
    ...{ functionName: 'approve', args: [PERMIT2_ADDRESS, micro] },
  })
  await chain.client.waitForTransactionReceipt({ hash })
}
