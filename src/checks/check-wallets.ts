import { privateKeyToAddress } from 'viem/accounts'
import { microToDollars } from '../protocol/amount.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { createChainClient } from '../settlement/chain-client.ts'
import { createRpc } from '../settlement/rpc.ts'
import { readBig } from '../settlement/rpc-values.ts'
import { addressWord } from '../settlement/token-calls.ts'
import type { Check, Finding } from './run-checks.ts'

const BALANCE_OF = '0x70a08231'
/** A settlement of one payment, generously. */
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
    mend: 'Fix RPC_URL first.',
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
          const mend = `Send ETH on ${network.id} to ${address}.`
          if (enough === 0n) return { name, level: 'error', message, mend }
          return enough < LOW_SETTLEMENTS
            ? { name, level: 'warn', message, mend }
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
    mend: 'Fix RPC_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const address = privateKeyToAddress(key)
      const held = await usdcOf(address, { rpcUrl, network }, limitMs)
      const message = `${address} holds ${usdc(held)} for refunds`
      if (payTo !== undefined && payTo.toLowerCase() !== address.toLowerCase() && held === 0n) {
        const mend = `Send USDC on ${network.id} to ${address}, or give the key of the wallet that is paid.`
        return [{ name, level: 'warn', message: `${message}, and it is not the wallet that is paid`, mend }]
      }
      return [{ name, level: 'ok', message }]
    },
  }
}

/** What the seller's wallet holds: the proof that the token can be read, and that it is the wallet one thinks of. */
export function checkSellerWallet(address: Address, { rpcUrl, network }: Place): Check {
  const name = 'SVC_WALLET_ADDRESS'
  return {
    name,
    asks: 'the RPC, asked for the wallet,',
    mend: 'Fix RPC_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const held = await usdcOf(address, { rpcUrl, network }, limitMs)
      return [{ name, level: 'ok', message: `holds ${usdc(held)} on ${network.id}` }]
    },
  }
}

async function usdcOf(address: string, { rpcUrl, network }: Place, timeoutMs: number): Promise<bigint> {
  const rpc = createRpc(rpcUrl, { timeoutMs, maxBytes: 64 * 1024 })
  const data = `${BALANCE_OF}${addressWord(address as Address)}`
  return readBig(await rpc.call('eth_call', [{ to: network.asset, data }, 'latest']), 'balance')
}
