import type { Address, Hex } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { spawnAnvil } from './anvil-process.ts'
import { ACCOUNTS, accountOf, type DevAccount, devAccount, fundDevAccounts } from './dev-accounts.ts'
import { createDevClient, type DevClient, MULTICALL3_ADDRESS, USDC_ADDRESSES } from './dev-client.ts'
import { placePermit2 } from './permit2.ts'
import multicall3 from './test-multicall3.json' with { type: 'json' }
import { controlToken, type TokenTransfer } from './test-token.ts'
import { deployTestWallet, type TestWallet } from './test-wallet.ts'

export type { DevAccount }

/** A transaction that `reorg` puts into the new branch: raw signed bytes and the block, counted from the fork. */
export type ReplayedTransaction = { raw: Hex; block: number }

/**
 * A local chain, and what tests do with it.
 *
 * @example
 * async function twoBlocksLater(chain: DevChain): Promise<bigint> {
 *   await chain.mine(2)
 *   return chain.balanceOf(chain.account(0).address)
 * }
 */
export type DevChain = {
  rpcUrl: string
  chainId: number
  /** CAIP-2, e.g. `eip155:84532`. */
  network: `eip155:${number}`
  /** TestUsdc, at the network's real USDC address. */
  usdc: Address
  client: DevClient
  /** The process id of anvil. */
  pid: number
  /** Mints USDC with a transaction or, while mining is off, by writing the balance, without a Transfer log. */
  mint(to: Address, micro: bigint): Promise<void>
  balanceOf(account: Address): Promise<bigint>
  /** Sets the ETH balance. */
  fundEth(account: Address, wei: bigint): Promise<void>
  /** Prefunded with 10,000 ETH; 0 to 49, with the same keys on every dev chain. The last one mints. */
  account(index: number): DevAccount
  /** An account with USDC and no ETH: a new one, or the one of `privateKey`, for example a buyer of another chain. */
  newBuyer(options?: { micro?: bigint; privateKey?: Hex }): Promise<DevAccount>
  mine(blocks?: number): Promise<void>
  setAutomine(on: boolean): Promise<void>
  /** Mines a block every so many seconds instead of one per transaction; 0: no blocks. */
  setIntervalMining(seconds: number): Promise<void>
  pauseToken(): Promise<void>
  unpauseToken(): Promise<void>
  blacklist(account: Address): Promise<void>
  unblacklist(account: Address): Promise<void>
  snapshot(): Promise<Hex>
  revert(id: Hex): Promise<void>
  /** Moves the chain's clock and mines one block, so that `latest` has the new time. */
  increaseTime(seconds: number): Promise<void>
  /** Replaces the last `depth` blocks by others; their transactions are removed unless they are replayed. */
  reorg(depth: number, replay?: ReplayedTransaction[]): Promise<void>
  deployWallet1271(owner: Address): Promise<TestWallet>
  /** All Transfer logs of the token to this account, oldest first. */
  transfersTo(account: Address): Promise<TokenTransfer[]>
  /** Ends anvil and waits until it is gone. */
  stop(): Promise<void>
}

/**
 * Starts a real local chain that looks like one of the known networks on the wire: anvil, with TestUsdc at USDC's address and Multicall3
 * at its own. A block per transaction unless `blockTimeSeconds` is given; `finalized` is two blocks behind `latest`.
 *
 * @example
 * const chain = await startDevChain()
 * const buyer = await chain.newBuyer({ micro: 5_000_000n })
 * await chain.stop()
 */
export async function startDevChain({
  chainId = 84532,
  blockTimeSeconds,
  port = 0,
}: {
  chainId?: number
  blockTimeSeconds?: number
  port?: number
} = {}): Promise<DevChain> {
  const usdc = USDC_ADDRESSES[chainId]
  if (!usdc)
    throw new Error(
      `startDevChain: chainId is ${chainId}; it can be ${Object.keys(USDC_ADDRESSES).join(', ')}.`,
    )
  const anvil = await spawnAnvil([
    ...['--chain-id', `${chainId}`, '--port', `${port}`, '--accounts', '1'],
    // Otherwise `finalized` stays 64 blocks behind.
    ...['--slots-in-an-epoch', '1'],
  ])
  const rpcUrl = `http://127.0.0.1:${anvil.port}`
  const client = createDevClient(chainId, rpcUrl)
  const token = controlToken(client, usdc, devAccount(ACCOUNTS - 1).address)

  async function prepare() {
    // anvil logs every call to its output; --silent would also hide the port.
    await client.setLoggingEnabled(false)
    await fundDevAccounts(rpcUrl)
    await token.install()
    await client.setCode({ address: MULTICALL3_ADDRESS, bytecode: multicall3.deployedBytecode as Hex })
    await placePermit2(client)
    await catchUp(client)
    // Puts the contracts into the genesis state, which no reorg or rollback removes.
    await client.mine({ blocks: 1 })
    if (blockTimeSeconds) await setIntervalMining(blockTimeSeconds)
  }

  async function setIntervalMining(seconds: number) {
    await client.setAutomine(false)
    await client.setIntervalMining({ interval: seconds })
  }

  try {
    await prepare()
  } catch (error) {
    await anvil.stop()
    throw error
  }

  return {
    rpcUrl,
    chainId,
    network: `eip155:${chainId}`,
    usdc,
    client,
    pid: anvil.pid,
    mint: token.mint,
    balanceOf: token.balanceOf,
    fundEth: (address, wei) => client.setBalance({ address, value: wei }),
    account: devAccount,
    async newBuyer({ micro = 0n, privateKey = generatePrivateKey() } = {}) {
      const buyer = accountOf(privateKey)
      if (micro > 0n) await token.mint(buyer.address, micro)
      return buyer
    },
    mine: (blocks = 1) => client.mine({ blocks }),
    setAutomine: (on) => client.setAutomine(on),
    setIntervalMining,
    pauseToken: () => token.setPaused(true),
    unpauseToken: () => token.setPaused(false),
    blacklist: (address) => token.setBlacklisted(address, true),
    unblacklist: (address) => token.setBlacklisted(address, false),
    snapshot: () => client.snapshot(),
    revert: (id) => client.revert({ id }),
    async increaseTime(seconds) {
      await client.increaseTime({ seconds })
      await client.mine({ blocks: 1 })
    },
    async reorg(depth, replay = []) {
      const pairs = replay.map(({ raw, block }) => [raw, block])
      await client.request({ method: 'anvil_reorg', params: [depth, pairs] } as never)
    },
    deployWallet1271: (owner) => deployTestWallet(client, owner),
    transfersTo: token.transfersTo,
    stop: anvil.stop,
  }
}

/** Sets anvil's clock to ours: otherwise it would stay behind by the seconds that anvil took to start. */
async function catchUp(client: DevClient): Promise<void> {
  const nowSeconds = () => Math.floor(Date.now() / 1000)
  for (;;) {
    const before = nowSeconds()
    const { timestamp } = await client.getBlock({ blockTag: 'pending' })
    // A second that began meanwhile would hide as much of the lag.
    if (nowSeconds() !== before) continue
    const behind = before - Number(timestamp)
    if (behind > 0) await client.increaseTime({ seconds: behind })
    return
  }
}
