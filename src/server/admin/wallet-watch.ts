import type { Backstage, WalletBalance } from '../../backstage.ts'
import { DAY_MS, MINUTE_MS } from '../../protocol/duration.ts'

export interface WatchedWallet {
  role: WalletBalance['role']
  address: string
  explorerUrl: string | null
  usdcMicro?: string
  ethWei?: string
  /** How long the balance lasts at the observed rate of spending; null while that is not known. */
  daysLeft?: number | null
  level: 'ok' | 'warn' | 'error'
  message?: string
}

/** The balances of the seller's wallets, read from the chain on demand and at most once a minute. */
export interface WalletWatch {
  /** `owedMicro`: the sum of refunds due. Rejects if the chain cannot be reached and no earlier balances are known. */
  look(owedMicro: bigint): Promise<WatchedWallet[]>
  gasWallets(): Promise<Array<{ address: string; ethWei: bigint }>>
}

const FRESH_MS = MINUTE_MS
/** A rate observed for a shorter time would be a guess. */
const LEAST_OBSERVED_MS = 10 * MINUTE_MS
const WARN_DAYS = 7

interface Burn {
  since: number
  lastWei: bigint
  spentWei: bigint
}

export function createWalletWatch(
  { balances, network }: Pick<Backstage, 'balances' | 'network'>,
  now: () => number = Date.now,
): WalletWatch {
  const burns = new Map<string, Burn>()
  let known: { at: number; wallets: WalletBalance[] } | undefined
  let asking: Promise<WalletBalance[]> | undefined

  async function ask(): Promise<WalletBalance[]> {
    try {
      const wallets = await balances()
      known = { at: now(), wallets }
      for (const { address, ethWei } of wallets) if (ethWei !== undefined) observe(address, ethWei)
      return wallets
    } catch (cause) {
      // Old balances are better than none; an alert of its own reports that the chain cannot be reached.
      if (!known) throw cause
      known = { at: now(), wallets: known.wallets }
      return known.wallets
    }
  }

  function read(): Promise<WalletBalance[]> {
    if (known && now() - known.at < FRESH_MS) return Promise.resolve(known.wallets)
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }

  /** Only decreases count as spending; an increase means that somebody sent ETH to the wallet. */
  function observe(address: string, ethWei: bigint): void {
    const burn = burns.get(address) ?? { since: now(), lastWei: ethWei, spentWei: 0n }
    const spent = burn.lastWei > ethWei ? burn.lastWei - ethWei : 0n
    burns.set(address, { since: burn.since, lastWei: ethWei, spentWei: burn.spentWei + spent })
  }

  function daysLeft(address: string, ethWei: bigint): number | null {
    const burn = burns.get(address)
    const observedMs = burn ? now() - burn.since : 0
    if (!burn || burn.spentWei === 0n || observedMs < LEAST_OBSERVED_MS) return null
    const perDay = (Number(burn.spentWei) / observedMs) * DAY_MS
    return Math.round((Number(ethWei) / perDay) * 10) / 10
  }

  function show(wallet: WalletBalance, owedMicro: bigint): WatchedWallet {
    const { role, address, usdcMicro, ethWei, needWei } = wallet
    const explorerUrl = /\/tx\/$/.test(network.explorerTxUrl)
      ? `${network.explorerTxUrl.replace(/tx\/$/, 'address/')}${address}`
      : null
    const shown = { role, address, explorerUrl, level: 'ok' as const }
    if (ethWei === undefined) {
      const short = role === 'refund' && usdcMicro !== undefined && usdcMicro < owedMicro
      return {
        ...shown,
        ...(usdcMicro !== undefined && { usdcMicro: usdcMicro.toString() }),
        ...(short && { level: 'error', message: 'holds less USDC than the refunds that wait; send it USDC' }),
      }
    }
    const days = daysLeft(address, ethWei)
    const gas = { ...shown, ethWei: ethWei.toString(), daysLeft: days }
    if (needWei !== undefined && ethWei < needWei) {
      return { ...gas, level: 'error', message: 'too little ETH for a full transaction; send it ETH' }
    }
    if (days !== null && days < WARN_DAYS) {
      return { ...gas, level: 'warn', message: `ETH for about ${days} days at the present rate` }
    }
    if (needWei !== undefined && ethWei < 10n * needWei) {
      return { ...gas, level: 'warn', message: 'ETH for fewer than ten full transactions; send it ETH' }
    }
    return gas
  }

  return {
    look: async (owedMicro) => (await read()).map((wallet) => show(wallet, owedMicro)),
    async gasWallets() {
      const wallets = await read()
      return wallets.flatMap(({ address, ethWei }) => (ethWei === undefined ? [] : [{ address, ethWei }]))
    },
  }
}
