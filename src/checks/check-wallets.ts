import { privateKeyToAddress } from 'viem/accounts'
import { createChainClient } from '../chain/chain-client.ts'
import { encodeBalanceOf } from '../chain/erc20.ts'
import { readBig } from '../chain/rpc-values.ts'
import { fullTransactionWei } from '../chain/wallet-balances.ts'
import { microToDollars } from '../protocol/amount.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { type CheckPlace, nodesOf, ofNetwork, onNetwork } from './check-place.ts'
import type { Check, Finding } from './run-checks.ts'

/** A generous estimate for settling one payment. */
const SETTLE_GAS = 100_000n
/** As on the dashboard. */
const LOW_TRANSACTIONS = 10n

/** An amount of the token in dollars, which may have more decimals than a price. */
const money = (units: bigint, { token }: Network): string =>
  `${microToDollars(units / 10n ** BigInt(token.decimals - 6)).slice(1)} ${token.symbol}`
const ether = (wei: bigint): string => (Number(wei / 1_000_000_000n) / 1e9).toString()

const freeAt = (faucet: string | undefined): string => (faucet === undefined ? '' : ` (free at ${faucet})`)

/** Can the gas wallets pay for settlements, and for how many? */
export function checkGasWallets(keys: readonly Hex[], place: CheckPlace): Check {
  const { network, labels } = place
  const name = labels.gasWalletPrivateKey
  return {
    name,
    asks: `the RPC${ofNetwork(place)}, asked for the gas wallet,`,
    fix: `Fix ${labels.rpcUrl} first.`,
    silence: 'warn',
    async run(limitMs) {
      const chain = createChainClient({ rpc: nodesOf(network, limitMs), network })
      return Promise.all(
        keys.map(async (key): Promise<Finding> => {
          const address = privateKeyToAddress(key)
          const state = await chain.wallet(address.toLowerCase() as Address)
          const each = (2n * state.baseFeeWei + state.priorityFeeWei) * SETTLE_GAS || 1n
          const needWei = fullTransactionWei(state, network)
          const coin = network.native.symbol
          const holds = `${address} holds ${ether(state.balanceWei)} ${coin}${onNetwork(place)}`
          const fix = `Send ${coin} on ${network.id} to ${address}${freeAt(network.faucets?.gas)}.`
          if (state.balanceWei < needWei) {
            const message = `${holds}, too little for a full transaction (${ether(needWei)} ${coin} now), so it settles nothing`
            return { name, level: 'error', message, fix }
          }
          const message = `${holds}, enough for about ${state.balanceWei / each} payments`
          return state.balanceWei < LOW_TRANSACTIONS * needWei
            ? { name, level: 'warn', message, fix }
            : { name, level: 'ok', message }
        }),
      )
    },
  }
}

/** Can the wallet that signs refunds pay them? */
export function checkRefundWallet(key: Hex, payTo: string | undefined, place: CheckPlace): Check {
  const { network, labels } = place
  const name = labels.refundWalletPrivateKey
  return {
    name,
    asks: `the RPC${ofNetwork(place)}, asked for the refund wallet,`,
    fix: `Fix ${labels.rpcUrl} first.`,
    silence: 'warn',
    async run(limitMs) {
      const address = privateKeyToAddress(key)
      const held = await heldBy(address, network, limitMs)
      const message = `${address} holds ${money(held, network)} for refunds${onNetwork(place)}`
      if (payTo !== undefined && payTo.toLowerCase() !== address.toLowerCase() && held === 0n) {
        const fix = `Send ${network.token.symbol} on ${network.id} to ${address}${freeAt(network.faucets?.token)}, or give the key of the wallet that is paid.`
        return [{ name, level: 'warn', message: `${message}, and it is not the wallet that is paid`, fix }]
      }
      return [{ name, level: 'ok', message }]
    },
  }
}

/** Shows the balance of the seller's wallet: proof that the token can be read, and a way to recognise the wallet. */
export function checkSellerWallet(address: Address, place: CheckPlace): Check {
  const { network, labels } = place
  const name = labels.walletAddress
  return {
    name,
    asks: `the RPC${ofNetwork(place)}, asked for the wallet,`,
    fix: `Fix ${labels.rpcUrl} first.`,
    silence: 'warn',
    async run(limitMs) {
      const held = await heldBy(address, network, limitMs)
      return [{ name, level: 'ok', message: `holds ${money(held, network)} on ${network.name}` }]
    },
  }
}

async function heldBy(address: string, network: Network, limitMs: number): Promise<bigint> {
  const call = { to: network.token.address, data: encodeBalanceOf(address as Address) }
  return readBig(await nodesOf(network, limitMs).call('eth_call', [call, 'latest']), 'balance')
}
