import { setTimeout as sleep } from 'node:timers/promises'
import { createWalletClient, http, publicActions } from 'viem'
import type { Call } from '../src/chain/multicall.ts'
import { CREATE2_DEPLOYER, SETTLER, SETTLER_DEPLOY_DATA } from '../src/chain/settler.ts'
import { NETWORKS } from '../src/protocol/networks.ts'
import type { SignedAuthorization } from '../src/schemes/exact/authorization.ts'
import { encodeTransfers } from '../src/schemes/exact/encode-transfers.ts'
import { encodePacked } from '../src/schemes/exact/packed-transfers.ts'
import { type DevChain, startDevChain } from '../src/testing/dev-chain.ts'
import { type Payment, PRICE_MICRO, preparePayments } from './payments.ts'
import { createOfficialFacilitator } from './servers/official-facilitator.ts'

/** Gas and calldata per payment of one way to settle. */
export interface GasCell {
  gasEach: number
  bytesEach: number
}

const PAYERS = 256
const LONE = 16
/** The most of one transaction, as the gas wallet has it. */
const PER_TX = 100

/**
 * What a payment costs on chain, by the way it is sent: the peer's facilitator, and our own calldata alone and in batches. One chain, payers
 * that have paid before, as in the other cells; nothing here depends on the machine.
 */
export async function measureGas(): Promise<Record<string, GasCell>> {
  const chain = await startDevChain()
  try {
    const seller = chain.account(2).address
    const sizes = [LONE, LONE, LONE, 64, 64, 256, 256]
    const payments = await preparePayments(chain, seller, PAYERS + sizes.reduce((sum, n) => sum + n), PAYERS)
    const take = (count: number) => payments.splice(0, count)
    const send = sender(chain)
    await send({ to: CREATE2_DEPLOYER, data: SETTLER_DEPLOY_DATA })
    const token = NETWORKS.find(({ chainId }) => chainId === chain.chainId)!.token.address
    const signed = (some: readonly Payment[]): SignedAuthorization[] =>
      some.map(({ authorization, signature }) => ({ ...authorization, signature }))
    const batches = (count: number, by: 'multicall3' | 'settler') => async () => {
      const all = signed(take(count))
      const sent: Sent[] = []
      while (all.length > 0) sent.push(await send(encodeTransfers(token, all.splice(0, PER_TX), by)))
      return sent
    }
    const alone = (encode: (one: SignedAuthorization) => Call) => async () => {
      const sent: Sent[] = []
      for (const one of signed(take(LONE))) sent.push(await send(encode(one)))
      return sent
    }
    // The first payment of a payer and to the seller costs more; it is not what is compared.
    await batches(PAYERS, 'multicall3')()
    const ways: Array<[string, number, () => Promise<Sent[]>]> = [
      ['peer, alone', LONE, () => settleByPeer(chain, take(LONE))],
      ['alone', LONE, alone((one) => encodeTransfers(token, [one]))],
      ['alone, by the settler', LONE, alone((one) => ({ to: SETTLER, data: encodePacked(token, [one]) }))],
      ['Multicall3, 64', 64, batches(64, 'multicall3')],
      ['settler, 64', 64, batches(64, 'settler')],
      ['Multicall3, 256', 256, batches(256, 'multicall3')],
      ['settler, 256', 256, batches(256, 'settler')],
    ]
    const cells: Record<string, GasCell> = {}
    for (const [name, count, run] of ways) {
      const before = await chain.balanceOf(seller)
      const sent = await run()
      const paid = (await chain.balanceOf(seller)) - before
      if (paid !== BigInt(count) * PRICE_MICRO) throw new Error(`${name}: ${paid} arrived`)
      const total = (field: keyof Sent) => sent.reduce((sum, one) => sum + one[field], 0)
      cells[name] = { gasEach: Math.round(total('gas') / count), bytesEach: total('bytes') / count }
    }
    return cells
  } finally {
    await chain.stop()
  }
}

interface Sent {
  gas: number
  bytes: number
}

function sender(chain: DevChain) {
  const client = createWalletClient({
    account: chain.account(1).account,
    chain: chain.client.chain,
    transport: http(chain.rpcUrl),
    pollingInterval: 20,
  }).extend(publicActions)
  return async (call: Call): Promise<Sent> => {
    const hash = await client.sendTransaction({ ...call, gas: 15_000_000n })
    return sentIn(chain, hash)
  }
}

async function sentIn(chain: DevChain, hash: `0x${string}`): Promise<Sent> {
  // viem's own wait looks again only when a block comes, and where each block has one transaction there may be none.
  let receipt = await receiptOf(chain, hash)
  for (; !receipt; receipt = await receiptOf(chain, hash)) await sleep(10)
  const { gasUsed, status } = receipt
  if (status !== 'success') throw new Error(`${hash} was reverted`)
  const { input } = await chain.client.getTransaction({ hash })
  return { gas: Number(gasUsed), bytes: (input.length - 2) / 2 }
}

const receiptOf = (chain: DevChain, hash: `0x${string}`) =>
  chain.client.getTransactionReceipt({ hash }).catch((error: Error) => {
    if (error.name === 'TransactionReceiptNotFoundError') return undefined
    throw error
  })

async function settleByPeer(chain: DevChain, payments: readonly Payment[]): Promise<Sent[]> {
  const facilitator = createOfficialFacilitator(chain.rpcUrl, chain.account(3).privateKey, true)
  const network = NETWORKS.find(({ chainId }) => chainId === chain.chainId)!
  const settle = async ({ authorization, signature }: Payment): Promise<Sent> => {
    const requirements = {
      scheme: 'exact',
      network: network.id as `${string}:${string}`,
      asset: network.token.address,
      amount: authorization.value,
      payTo: authorization.to,
      maxTimeoutSeconds: 900,
      extra: { ...network.token.domain },
    }
    const payload = { x402Version: 2, accepted: requirements, payload: { authorization, signature } }
    const answer = await facilitator.settle(payload, requirements)
    if (!answer.success) throw new Error(`the peer's facilitator: ${answer.errorReason}`)
    return sentIn(chain, answer.transaction as `0x${string}`)
  }
  // It waits as viem does: blocks have to come.
  await chain.setIntervalMining(1)
  try {
    return await Promise.all(payments.map(settle))
  } finally {
    await chain.setIntervalMining(0)
    await chain.setAutomine(true)
  }
}
