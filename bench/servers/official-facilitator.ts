import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'

/**
 * The official facilitator over viem. As shipped it is what its own example shows; tuned, it also gets viem's nonce
 * manager, without which it loses most concurrent payments, and asks for receipts every 20 ms.
 */
export function createOfficialFacilitator(rpcUrl: string, privateKey: `0x${string}`, tuned: boolean) {
  const account = privateKeyToAccount(privateKey, tuned ? { nonceManager } : {})
  const client = createWalletClient({
    account,
    chain: baseSepolia,
    transport: http(rpcUrl),
    ...(tuned && { pollingInterval: 20, cacheTime: 0 }),
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    readContract: (call) => client.readContract({ ...call, args: call.args ?? [] }),
    verifyTypedData: (data) => client.verifyTypedData(data as Parameters<typeof client.verifyTypedData>[0]),
    writeContract: (call) => client.writeContract(call as Parameters<typeof client.writeContract>[0]),
    sendTransaction: (transaction) => client.sendTransaction(transaction),
    waitForTransactionReceipt: (query) => client.waitForTransactionReceipt(query),
    getCode: (query) => client.getCode(query),
  })
  return new x402Facilitator().register('eip155:84532', new ExactEvmScheme(signer))
}
