import { type Address, encodeAbiParameters, type Hex, keccak256, numberToHex, stringToHex } from 'viem'
import type { DevClient } from './dev-client.ts'
import artifact from './test-usdc.json' with { type: 'json' }
import proxy from './test-usdc-proxy.json' with { type: 'json' }
import { usdcAbi } from './usdc-abi.ts'

/** A Transfer of the token as the chain logged it. */
export type TokenTransfer = {
  from: Address
  to: Address
  value: bigint
  transactionHash: Hex
  blockNumber: bigint
  logIndex: number
}

/**
 * Asks until the receipt is there. viem's own function asks once per new block: a transaction that is mined between its
 * first two calls is noticed at the next block only, and an idle chain has no next block.
 */
async function mined(client: DevClient, hash: Hex): Promise<void> {
  while (!(await client.getTransactionReceipt({ hash }).catch(() => undefined))) {
    await new Promise((turn) => setTimeout(turn, 5))
  }
}

/** The address of the token's code; USDC's address is a proxy for it. */
const IMPLEMENTATION: Address = '0x000000000000000000000000000000000000c0de'
/** An address that nobody uses, because a proxy refuses calls of its admin. */
const ADMIN: Address = '0x000000000000000000000000000000000000ad14'
const proxySlot = (name: 'admin' | 'implementation'): Hex =>
  keccak256(stringToHex(`paystile.test-usdc.${name}`))

/**
 * The controls of the test token at `usdc`.
 *
 * Pause and blacklist are written directly into the token's storage: they apply at once, also to transactions in the mempool,
 * as a test of "paused while settling" needs.
 */
export function controlToken(client: DevClient, usdc: Address, minter: Address) {
  const { balances, blacklisted, paused, totalSupply } = artifact.slots
  const write = (slot: Hex, value: bigint) =>
    client.setStorageAt({ address: usdc, index: slot, value: numberToHex(value, { size: 32 }) })
  const read = async (slot: Hex) => BigInt((await client.getStorageAt({ address: usdc, slot })) ?? 0)
  const add = async (slot: Hex, value: bigint) => write(slot, (await read(slot)) + value)

  let lastMint: Promise<unknown> = Promise.resolve()

  async function mintNow(to: Address, micro: bigint): Promise<void> {
    if (await minesByItself(client)) {
      const hash = await client.writeContract({
        address: usdc,
        abi: usdcAbi,
        functionName: 'mint',
        args: [to, micro],
        account: minter,
      })
      await mined(client, hash)
      return
    }
    // A transaction would not be mined; and since nothing is mined, these two values cannot change meanwhile.
    await add(mappingSlot(to, balances.slot), micro)
    await add(plainSlot(totalSupply.slot), micro)
  }

  return {
    async install(): Promise<void> {
      await client.setCode({ address: IMPLEMENTATION, bytecode: artifact.deployedBytecode as Hex })
      await client.setCode({ address: usdc, bytecode: proxy.deployedBytecode as Hex })
      await write(proxySlot('admin'), BigInt(ADMIN))
      await write(proxySlot('implementation'), BigInt(IMPLEMENTATION))
    },
    mint(to: Address, micro: bigint): Promise<void> {
      // One after another: anvil could give two simultaneous transactions of the minter the same nonce.
      const mint = lastMint.then(() => mintNow(to, micro))
      lastMint = mint.catch(() => {})
      return mint
    },
    balanceOf: (account: Address) =>
      client.readContract({ address: usdc, abi: usdcAbi, functionName: 'balanceOf', args: [account] }),
    setPaused: (on: boolean) => write(plainSlot(paused.slot), on ? 1n : 0n),
    setBlacklisted: (account: Address, on: boolean) =>
      write(mappingSlot(account, blacklisted.slot), on ? 1n : 0n),
    async transfersTo(account: Address): Promise<TokenTransfer[]> {
      const logs = await client.getContractEvents({
        address: usdc,
        abi: usdcAbi,
        eventName: 'Transfer',
        args: { to: account },
        fromBlock: 0n,
        strict: true,
      })
      return logs.map(({ args, transactionHash, blockNumber, logIndex }) => {
        return { ...args, transactionHash, blockNumber, logIndex }
      })
    },
  }
}

async function minesByItself(client: DevClient): Promise<boolean> {
  if (await client.getAutomine()) return true
  const interval = await client.request<{ Method: 'anvil_getIntervalMining'; ReturnType: number | null }>({
    method: 'anvil_getIntervalMining',
  } as never)
  return Boolean(interval)
}

// Solidity's layout: a plain variable is at its slot, an entry of a mapping at keccak256(key . slot).
const plainSlot = (slot: number) => numberToHex(slot, { size: 32 })
const mappingSlot = (key: Address, slot: number) =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [key, BigInt(slot)]))
