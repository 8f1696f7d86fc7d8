import { type Address, type Hex, numberToHex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { DevClient } from './dev-client.ts'
import artifact from './test-wallet-1271.json' with { type: 'json' }

const MODES = ['honest', 'refuses', 'refuses-on-chain', 'burns-gas', 'burns-later'] as const

/**
 * How the wallet answers `isValidSignature`: truthfully; never yes; yes in a call without a gas price but no in a
 * transaction; not at all, after consuming all gas; or truthfully up to the block that is the latest now, and then not at
 * all, so that it agrees in every simulation and burns the gas in the transaction.
 */
export type WalletMode = (typeof MODES)[number]

/** A smart-contract wallet (EIP-1271). A new mode applies at once, also to transactions in the mempool. */
export type TestWallet = { address: Address; owner: Address; setMode(mode: WalletMode): Promise<void> }

/** Puts a TestWallet1271 of `owner` at a fresh address, without a transaction. */
export async function deployTestWallet(client: DevClient, owner: Address): Promise<TestWallet> {
  const address = privateKeyToAddress(generatePrivateKey())
  const { slot, offset } = artifact.slots.mode // shares its slot with `owner`
  const setMode = async (mode: WalletMode) => {
    const until = numberToHex(await client.getBlockNumber({ cacheTime: 0 }), { size: 32 })
    await client.setStorageAt({
      address,
      index: numberToHex(artifact.slots.agreesUntil.slot, { size: 32 }),
      value: until,
    })
    await client.setStorageAt({
      address,
      index: numberToHex(slot, { size: 32 }),
      value: numberToHex((BigInt(MODES.indexOf(mode)) << BigInt(offset * 8)) | BigInt(owner), { size: 32 }),
    })
  }
  await client.setCode({ address, bytecode: artifact.deployedBytecode as Hex })
  await setMode('honest')
  return { address, owner, setMode }
}
