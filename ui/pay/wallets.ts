import { useEffect, useState } from 'preact/hooks'

/** EIP-1193. */
export interface Provider {
  request(ask: { method: string; params?: unknown }): Promise<unknown>
}

export interface Wallet {
  id: string
  name: string
  /** A data: URL. */
  icon?: string
  provider: Provider
}

interface Announced {
  info?: { uuid?: unknown; name?: unknown; icon?: unknown }
  provider?: Provider
}

/** Every wallet of this browser: those that announce themselves (EIP-6963), or else the one that is injected (EIP-1193). */
export function useWallets(): Wallet[] {
  const [announced, setAnnounced] = useState<Wallet[]>([])
  const [injected, setInjected] = useState<Provider | undefined>(injectedNow)
  useEffect(() => {
    const hear = (event: Event): void => {
      const wallet = walletOf((event as CustomEvent<Announced | undefined>).detail)
      if (!wallet) return
      setAnnounced((known) => (known.some(({ id }) => id === wallet.id) ? known : [...known, wallet]))
    }
    const look = (): void => setInjected(injectedNow)
    addEventListener('eip6963:announceProvider', hear)
    // Some wallets inject themselves late.
    addEventListener('ethereum#initialized', look)
    addEventListener('load', look)
    dispatchEvent(new Event('eip6963:requestProvider'))
    return () => {
      removeEventListener('eip6963:announceProvider', hear)
      removeEventListener('ethereum#initialized', look)
      removeEventListener('load', look)
    }
  }, [])
  if (announced.length > 0) return announced
  return injected ? [{ id: 'injected', name: 'Browser wallet', provider: injected }] : []
}

function injectedNow(): Provider | undefined {
  const { ethereum } = window as { ethereum?: Provider }
  return typeof ethereum?.request === 'function' ? ethereum : undefined
}

function walletOf(detail: Announced | undefined): Wallet | undefined {
  const { info, provider } = detail ?? {}
  if (typeof provider?.request !== 'function' || typeof info?.uuid !== 'string') return undefined
  const name = typeof info.name === 'string' && info.name.trim() !== '' ? info.name.slice(0, 40) : 'Wallet'
  const icon = typeof info.icon === 'string' && info.icon.startsWith('data:image/') ? info.icon : undefined
  return { id: info.uuid, name, provider, ...(icon !== undefined && { icon }) }
}
