import type { Backstage, NetworkBalances, WalletBalance } from '../../backstage.ts'
import { DAY_MS, MINUTE_MS } from '../../protocol/duration.ts'
import type { Network } from '../../protocol/network.ts'

export interface WatchedWallet {
  /** CAIP-2 id. */
  network: string
  role: WalletBalance['role']
  address: string
  explorerUrl: string | null
  usdcMicro?: string
  ethWei?: string
  /** The symbol of what the balance is in: the token, or the coin that pays gas. */
  symbol: string
  /** How long the balance lasts at the observed rate of spending; null while that is not known. */
  daysLeft?: number | null
  level: 'ok' | 'warn' | 'error'
  message?: string
  /** On a test network, where what the message asks for is free. */
  faucetUrl?: string
}

/** The balances of the seller's wallets, read from the chain on demand and at most once a minute. */
export interface WalletWatch {
  /** `owedMicro`: what is to be refunded on a network. A network whose chain was never reached is left out. */
  look(owedMicro: (network: Network) => bigint): Promise<WatchedWallet[]>
  /** `coin`: the symbol of what the balance is in. */
  gasWallets(): Promise<Array<{ network: string; coin: string; address: string; ethWei: bigint }>>
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
  { balances }: Pick<Backstage, 'balances'>,
  now: () => number = Date.now,
): WalletWatch {
  const burns = new Map<string, Burn>()
  let known: { at: number; read: NetworkBalances[] } | undefined
  let asking: Promise<NetworkBalances[]> | undefined

  async function ask(): Promise<NetworkBalances[]> {
    const read = (await balances()).map(({ network, wallets }) => {
      // Old balances are better than none; an alert of its own reports that the chain cannot be reached.
      if (!wallets)
        return known?.read.find((before) => before.network.id === network.id) ?? { network, wallets }
      for (const { address, ethWei } of wallets)
        if (ethWei !== undefined) observe(keyOf(network, address), ethWei)
      return { network, wallets }
    })
    known = { at: now(), read }
    return read
  }

  function read(): Promise<NetworkBalances[]> {
    if (known && now() - known.at < FRESH_MS) return Promise.resolve(known.read)
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }

  /** Only decreases count as spending; an increase means that somebody sent ETH to the wallet. */
  function observe(key: string, ethWei: bigint): void {
    const burn = burns.get(key) ?? { since: now(), lastWei: ethWei, spentWei: 0n }
    const spent = burn.lastWei > ethWei ? burn.lastWei - ethWei : 0n
    burns.set(key, { since: burn.since, lastWei: ethWei, spentWei: burn.spentWei + spent })
  }

  function daysLeft(key: string, ethWei: bigint): number | null {
    const burn = burns.get(key)
    const observedMs = burn ? now() - burn.since : 0
    if (!burn || burn.spentWei === 0n || observedMs < LEAST_OBSERVED_MS) return null
    const perDay = (Number(burn.spentWei) / observedMs) * DAY_MS
    return Math.round((Number(ethWei) / perDay) * 10) / 10
  }

  function show(network: Network, wallet: WalletBalance, owedMicro: bigint): WatchedWallet {
    const { role, address, usdcMicro, ethWei, needWei } = wallet
    const explorerUrl = /\/tx\/$/.test(network.explorerTxUrl)
      ? `${network.explorerTxUrl.replace(/tx\/$/, 'address/')}${address}`
      : null
    const { symbol } = network.native
    const { symbol: token } = network.token
    const { faucets } = network
    const shown = { network: network.id, role, address, explorerUrl, level: 'ok' as const }
    if (ethWei === undefined) {
      const short = role === 'refund' && usdcMicro !== undefined && usdcMicro < owedMicro
      return {
        ...shown,
        symbol: token,
        ...(usdcMicro !== undefined && { usdcMicro: usdcMicro.toString() }),
        ...(short && {
          level: 'error',
          message: `holds less ${token} than the refunds that wait; send it ${token}`,
          ...(faucets && { faucetUrl: faucets.token }),
        }),
      }
    }
    const days = daysLeft(keyOf(network, address), ethWei)
    const gas = { ...shown, symbol, ethWei: ethWei.toString(), daysLeft: days }
    const free = faucets && { faucetUrl: faucets.gas }
    if (needWei !== undefined && ethWei < needWei) {
      return {
        ...gas,
        level: 'error',
        message: `too little ${symbol} for a full transaction; send it ${symbol}`,
        ...free,
      }
    }
    if (days !== null && days < WARN_DAYS) {
      const message = `${symbol} for about ${days} days at the present rate`
      return { ...gas, level: 'warn', message, ...free }
    }
    if (needWei !== undefined && ethWei < 10n * needWei) {
      return {
        ...gas,
        level: 'warn',
        message: `${symbol} for fewer than ten full transactions; send it ${symbol}`,
        ...free,
      }
    }
    return gas
  }

  return {
    async look(owedMicro) {
      return (await read()).flatMap(({ network, wallets }) => {
        return (wallets ?? []).map((wallet) => show(network, wallet, owedMicro(network)))
      })
    },
    async gasWallets() {
      return (await read()).flatMap(({ network, wallets }) => {
        return (wallets ?? []).flatMap(({ address, ethWei }) => {
          return ethWei === undefined
            ? []
            : [{ network: network.id, coin: network.native.symbol, address, ethWei }]
        })
      })
    },
  }
}

/** One wallet has a balance on every network. */
const keyOf = ({ id }: Network, address: string): string => `${id}:${address}`
