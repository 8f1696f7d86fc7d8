import { privateKeyToAddress } from 'viem/accounts'
import { createChainClient } from '../chain/chain-client.ts'
import { encodeBalanceOf } from '../chain/erc20.ts'
import { createRpc } from '../chain/rpc.ts'
import { readBig } from '../chain/rpc-values.ts'
import { microToDollars } from '../protocol/amount.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { Check, Finding } from './run-checks.ts'

/** A generous estimate for settling one payment. */
const SETTLE_GAS = 100_000n
const LOW_SETTLEMENTS = 100n

interface Place {
  rpcUrl: string
  network: Network
}

const usdc = (micro: bigint): string => `${microToDollars(micro).slice(1)} USDC`
const ether = (wei: bigint): string => (Number(wei / 1_000_000_000n) / 1e9).toString()

/** Can the gas wallets pay for settlements, and for how many? */
export function checkGasWallets(keys: readonly Hex[], { rpcUrl, network }: Place): Check {
  const name = 'GAS_WALLET_PRIVATE_KEY'
  return {
    name,
    asks: 'the RPC, asked for the gas wallet,',
    fix: 'Fix RPC_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const chain = createChainClient({ rpcUrl, network, timeoutMs: limitMs })
      return Promise.all(
        keys.map(async (key): Promise<Finding> => {
          const address = privateKeyToAddress(key)
          const state = await chain.wallet(address.toLowerCase() as Address)
          const each = (2n * state.baseFeeWei + state.priorityFeeWei) * SETTLE_GAS || 1n
          const enough = state.balanceWei / each
          const message = `${address} holds ${ether(state.balanceWei)} ETH, enough for about ${enough} payments`
          const fix = `Send ETH on ${network.id} to ${address}.`
          if (enough === 0n) return { name, level: 'error', message, fix }
          return enough < LOW_SETTLEMENTS
            ? { name, level: 'warn', message, fix }
            : { name, level: 'ok', message }
        }),
      )
    },
  }
}

/** Can the wallet that signs refunds pay them? */
export function checkRefundWallet(key: Hex, payTo: string | undefined, { rpcUrl, network }: Place): Check {
  const name = 'REFUND_WALLET_PRIVATE_KEY'
  return {
    name,
    asks: 'the RPC, asked for the refund wallet,',
    fix: 'Fix RPC_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const address = privateKeyToAddress(key)
      const held = await usdcOf(address, { rpcUrl, network }, limitMs)
      const message = `${address} holds ${usdc(held)} for refunds`
      if (payTo !== undefined && payTo.toLowerCase() !== address.toLowerCase() && held === 0n) {
        const fix = `Send USDC on ${network.id} to ${address}, or give the key of the wallet that is paid.`
        return [{ name, level: 'warn', message: `${message}, and it is not the wallet that is paid`, fix }]
      }
      return [{ name, level: 'ok', message }]
    },
  }
}

/** Shows the balance of the seller's wallet: proof that the token can be read, and a way to recognise the wallet. */
export function checkSellerWallet(address: Address, { rpcUrl, network }: Place): Check {
  const name = 'SVC_WALLET_ADDRESS'
  return {
    name,
    asks: 'the RPC, asked for the wallet,',
    fix: 'Fix RPC_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const held = await usdcOf(address, { rpcUrl, network }, limitMs)
      return [{ name, level: 'ok', message: `holds ${usdc(held)} on ${network.id}` }]
    },
  }
}

async function usdcOf(address: string, { rpcUrl, network }: Place, timeoutMs: number): Promise<bigint> {
  const rpc = createRpc(rpcUrl, { timeoutMs, maxBytes: 64 * 1024 })
  const data = encodeBalanceOf(address as Address)
  return readBig(await rpc.call('eth_call', [{ to: network.token.address, data }, 'latest']), 'balance')
}
