import { createHash } from 'node:crypto'
import type { Chain, Submitted, TxSigner } from '../../src/ports.ts'
import type { Address, Hex } from '../../src/protocol/hex.ts'

export const GWEI = 1_000_000_000n
export const A: Address = `0x${'a'.repeat(40)}`
export const B: Address = `0x${'b'.repeat(40)}`

export type FakeTx = { wallet: Address; nonce: number; calls: number; fee: number }
export const decode = (raw: Hex) => JSON.parse(Buffer.from(raw.slice(2), 'hex').toString()) as FakeTx
export const hashOf = (raw: Hex): Hex => `0x${createHash('sha256').update(raw).digest('hex')}`

export const fakeSigner = (address: Address): TxSigner => ({
  address,
  async sign({ nonce, calls, maxFeePerGas }) {
    const fee = Number(maxFeePerGas / 1_000_000n)
    const tx: FakeTx = { wallet: address, nonce, calls: calls.length, fee }
    const raw: Hex = `0x${Buffer.from(JSON.stringify(tx)).toString('hex')}`
    return { raw, hash: hashOf(raw) }
  },
})

export interface FakeChain {
  walletOf(address: Address): { nonce: number; balanceWei: bigint }
  pool: Map<string, Hex>
  minedHashes: Set<Hex>
  baseFeeWei: bigint
  reachable: boolean
  /** Answers given instead of the pool's own. */
  scripted: Submitted[]
  submitted: FakeTx[]
  mine(): void
  chain: Chain
}

/** A mempool that behaves like a node's: one transaction per nonce, replaced only at a tenth more. */
export function createFakeChain(): FakeChain {
  const wallets = new Map<Address, { nonce: number; balanceWei: bigint }>()
  const walletOf = (address: Address) => {
    const wallet = wallets.get(address) ?? { nonce: 0, balanceWei: 10n ** 18n }
    wallets.set(address, wallet)
    return wallet
  }
  const pool = new Map<string, Hex>()
  const minedHashes = new Set<Hex>()
  const fake: FakeChain = {
    walletOf,
    pool,
    minedHashes,
    baseFeeWei: GWEI,
    reachable: true,
    scripted: [],
    submitted: [],
    mine() {
      for (const [address, wallet] of wallets) {
        for (; pool.has(`${address}:${wallet.nonce}`); wallet.nonce++) {
          minedHashes.add(hashOf(pool.get(`${address}:${wallet.nonce}`)!))
          pool.delete(`${address}:${wallet.nonce}`)
        }
      }
    },
    chain: {
      async wallet(address: Address) {
        if (!fake.reachable) throw new Error('unreachable')
        return { ...walletOf(address), baseFeeWei: fake.baseFeeWei, priorityFeeWei: GWEI / 10n }
      },
      mined: async (hashes: readonly Hex[]) =>
        hashes
          .filter((hash) => minedHashes.has(hash))
          .map((hash) => ({ hash, success: true, blockNumber: 1 })),
      async submit(raw: Hex): Promise<Submitted> {
        if (!fake.reachable) throw new Error('unreachable')
        const tx = decode(raw)
        fake.submitted.push(tx)
        const scripted = fake.scripted.shift()
        if (scripted) return scripted
        if (tx.nonce < walletOf(tx.wallet).nonce) return 'nonce-low'
        const slot = `${tx.wallet}:${tx.nonce}`
        const present = pool.get(slot)
        if (present === raw) return 'known'
        if (present && tx.fee < decode(present).fee * 1.1) return 'underpriced'
        pool.set(slot, raw)
        return 'accepted'
      },
    } as Pick<Chain, 'wallet' | 'mined' | 'submit'> as Chain,
  }
  return fake
}
