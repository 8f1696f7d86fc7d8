import { createWalletClient, type Hex, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { DevChain } from './dev-chain.ts'
import { defineDevChain } from './dev-client.ts'
import { waitForReceipt } from './wait-for-receipt.ts'

/**
 * The official facilitator on these dev chains, without its HTTP server. Calls `onBroadcast` with each authorization that
 * it sends.
 */
export async function createOfficialFacilitator(
  chains: readonly [DevChain, ...DevChain[]],
  privateKey: Hex,
  onBroadcast: (nonce: Hex, hash: Hex) => void,
  walletFactories: readonly Hex[] = [],
) {
  const { x402Facilitator } = await import('@x402/core/facilitator')
  const { ExactEvmScheme } = await import('@x402/evm/exact/facilitator')
  const official = new x402Facilitator()
  const senders = await Promise.all(chains.map((chain) => createSender(chain, privateKey, onBroadcast)))
  for (const { network, signer } of senders) {
    official.register(network, new ExactEvmScheme(signer, { eip6492AllowedFactories: [...walletFactories] }))
  }
  const [{ sendUnrelated }] = senders as [(typeof senders)[number]]
  return { official, account: privateKeyToAccount(privateKey), sendUnrelated }
}

/** Signs and sends on one chain. */
async function createSender(chain: DevChain, privateKey: Hex, onBroadcast: (nonce: Hex, hash: Hex) => void) {
  const { toFacilitatorEvmSigner } = await import('@x402/evm')
  const account = privateKeyToAccount(privateKey)
  const client = createWalletClient({
    account,
    chain: defineDevChain(chain.chainId, chain.rpcUrl),
    transport: http(chain.rpcUrl, { retryCount: 0 }),
    pollingInterval: 15,
    cacheTime: 0,
  }).extend(publicActions)

  // Sends are made one after another, each with the nonce that the chain then has, or concurrent settlements would
  // take the same one. viem's nonceManager does not help: with 100 at once it sometimes gives the same nonce twice, one
  // failed send makes it forget the nonces in flight, and it does not notice a reverted chain.
  let lastSend: Promise<unknown> = Promise.resolve()
  function inTurn(send: () => Promise<Hex>): Promise<Hex> {
    const sent = lastSend.then(send)
    lastSend = sent.catch(() => {})
    return sent
  }

  const signer = toFacilitatorEvmSigner(
    {
      address: account.address,
      readContract: (call) => client.readContract({ ...call, args: call.args ?? [] }),
      verifyTypedData: (data) => client.verifyTypedData(data as Parameters<typeof client.verifyTypedData>[0]),
      getCode: (query) => client.getCode(query),
      sendTransaction: (transaction) => inTurn(() => client.sendTransaction(transaction)),
      waitForTransactionReceipt: (query) => waitForReceipt(client, query),
      async writeContract(call) {
        const hash = await inTurn(() =>
          client.writeContract(call as Parameters<typeof client.writeContract>[0]),
        )
        if (call.functionName === 'transferWithAuthorization') onBroadcast(call.args[5] as Hex, hash)
        return hash
      },
    },
    // A settlement that was never mined must not keep a stopped test alive for the usual three minutes.
    { confirmationTimeoutMs: 30_000 },
  )

  return {
    network: chain.network,
    signer,
    /** A real transaction that pays for nothing. */
    sendUnrelated: () => inTurn(() => client.sendTransaction({ to: account.address, value: 0n })),
  }
}
