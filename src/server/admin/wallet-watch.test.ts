import { expect, test } from 'vitest'
import type { NetworkBalances } from '../../backstage.ts'
import { HOUR_MS } from '../../protocol/duration.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { createWalletWatch } from './wallet-watch.ts'

const ETH = 10n ** 18n
const network = NETWORKS[1]!

function watch(first: { ethWei: bigint; usdcMicro?: bigint }) {
  let nowMs = 0
  let reads = 0
  let away = false
  const holds = { usdcMicro: 5n, ...first }
  const balances = async (): Promise<NetworkBalances[]> => {
    reads += 1
    if (away) return [{ network, wallets: null }]
    return [
      {
        network,
        wallets: [
          { role: 'gas', address: '0x1', ethWei: holds.ethWei, needWei: ETH / 1000n },
          { role: 'refund', address: '0x2', usdcMicro: holds.usdcMicro },
        ],
      },
    ]
  }
  const wallets = createWalletWatch({ balances }, () => nowMs)
  return {
    ...{ wallets, holds },
    reads: () => reads,
    pass: (ms: number) => {
      nowMs += ms
    },
    leave: () => {
      away = true
    },
  }
}

test('the chain is asked at most once a minute, and once for simultaneous calls', async () => {
  const { wallets, reads, pass, leave } = watch({ ethWei: ETH })
  await Promise.all([wallets.look(() => 0n), wallets.look(() => 0n), wallets.gasWallets()])
  pass(59_000)
  await wallets.look(() => 0n)
  expect(reads()).toBe(1)
  pass(2_000)
  await wallets.look(() => 0n)
  expect(reads()).toBe(2)
  leave()
  pass(61_000)
  expect(await wallets.look(() => 0n), 'what was true before').toHaveLength(2)
})

test('days left are computed from decreases only; sending ETH to the wallet does not count', async () => {
  const { wallets, holds, pass } = watch({ ethWei: 10n * ETH })
  const gas = async () => (await wallets.look(() => 0n))[0]!
  expect(await gas()).toMatchObject({ daysLeft: null, level: 'ok', ethWei: String(10n * ETH) })
  pass(12 * HOUR_MS)
  holds.ethWei = 9n * ETH
  expect(await gas()).toMatchObject({ daysLeft: 4.5, level: 'warn' })
  pass(12 * HOUR_MS)
  holds.ethWei = 100n * ETH
  expect(await gas()).toMatchObject({ daysLeft: 100, level: 'ok' })
  holds.ethWei = ETH / 2000n
  pass(12 * HOUR_MS)
  expect(await gas()).toMatchObject({
    level: 'error',
    message: expect.stringContaining('send it ETH'),
    faucetUrl: network.faucets!.gas,
  })
  expect((await gas()).explorerUrl).toBe('https://sepolia.basescan.org/address/0x1')
})

test('a refund wallet that holds less than the refunds due is an error', async () => {
  const { wallets } = watch({ ethWei: ETH, usdcMicro: 5n })
  expect((await wallets.look(() => 5n))[1]).toMatchObject({ level: 'ok', usdcMicro: '5' })
  expect((await wallets.look(() => 6n))[1]).toMatchObject({
    level: 'error',
    faucetUrl: network.faucets!.token,
  })
})
