import { privateKeyToAddress } from 'viem/accounts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { CheckPlace } from './check-place.ts'
import type { Check, Finding } from './run-checks.ts'

interface GasPlace {
  place: CheckPlace
  keys: readonly Hex[]
}

/**
 * Is a gas wallet none of those that are paid? Its key is on every server that settles: whoever takes it should find gas there,
 * and no revenue. An address is the same on every network, so all of them are compared.
 */
export function checkGasWalletsApart(settling: readonly GasPlace[], paid: readonly Address[]): Check[] {
  const wallets = new Set(paid.map((address) => address.toLowerCase()))
  return settling.flatMap(({ place: { labels }, keys }): Check[] => {
    const name = labels.gasWalletPrivateKey
    const both = keys
      .map((key) => privateKeyToAddress(key))
      .filter((address) => wallets.has(address.toLowerCase()))
    if (both.length === 0) return []
    const findings = both.map(
      (address): Finding => ({
        ...{ name, level: 'warn' },
        message: `${address} is also a wallet that is paid: this key also holds your revenue; use a wallet of its own`,
        fix: `Set ${name} to the key of another wallet, which holds coins for gas and nothing else.`,
      }),
    )
    return [{ name, asks: 'the gas wallet', fix: `Set ${name} anew.`, run: async () => findings }]
  })
}
