import { type Address, type Hex, maxUint256 } from 'viem'
import type { DevAccount, DevChain } from './dev-chain.ts'
import type { DevClient } from './dev-client.ts'
import permit2 from './test-permit2.json' with { type: 'json' }
import uptoProxy from './test-upto-proxy.json' with { type: 'json' }
import { usdcAbi } from './usdc-abi.ts'

/** The same on every chain. */
export const PERMIT2_ADDRESS: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** The spender of x402's `upto`, which only the payer's facilitator may call. */
export const UPTO_PROXY_ADDRESS: Address = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'

/** Places stand-ins for both where the real ones are. */
export async function placePermit2(client: DevClient): Promise<void> {
  await client.setCode({ address: PERMIT2_ADDRESS, bytecode: permit2.deployedBytecode as Hex })
  await client.setCode({ address: UPTO_PROXY_ADDRESS, bytecode: uptoProxy.deployedBytecode as Hex })
}

/** The owner lets Permit2 move this much of its tokens, as every wallet must once before its first `upto` payment. */
export async function approvePermit2(chain: DevChain, owner: DevAccount, micro = maxUint256): Promise<void> {
  await chain.fundEth(owner.address, 10n ** 18n)
  const hash = await chain.client.writeContract({
    ...{ account: owner.account, address: chain.usdc, abi: usdcAbi },
    ...{ functionName: 'approve', args: [PERMIT2_ADDRESS, micro] },
  })
  while (!(await chain.client.getTransactionReceipt({ hash }).catch(() => undefined)))
    await new Promise((turn) => setTimeout(turn, 5))
}
