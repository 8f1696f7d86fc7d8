import type { BrowserContext, Page } from 'playwright-core'
import type { DevAccount } from '../../src/testing/index.ts'

/** What a wallet in the browser is asked, and how it behaves. */
export interface InjectedWallet {
  /** Methods in the order in which they were asked. */
  asked: string[]
  /** Typed data that was signed. */
  signed: Array<{ domain: Record<string, unknown>; message: Record<string, string> }>
  /** The chain that it is on. */
  chainId: number
  /** Chains that it can switch to without being told about them. */
  known: Set<number>
  /** Methods that the person declines. */
  declines: Set<string>
}

interface Ask {
  method: string
  params?: unknown[]
}

class WalletError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Puts a wallet into every document of a page: it announces itself (EIP-6963) or is only injected (EIP-1193), and signs with a
 * real key. Everything but signing and its own network is asked of the chain.
 */
export async function injectWallet(
  page: Pick<Page | BrowserContext, 'exposeFunction' | 'addInitScript'>,
  { account, address }: DevAccount,
  rpcUrl: string,
  options: { name?: string; announces?: boolean; chainId?: number } = {},
): Promise<InjectedWallet> {
  const { name = 'Test Wallet', announces = true, chainId = 84_532 } = options
  const wallet: InjectedWallet = {
    asked: [],
    signed: [],
    chainId,
    known: new Set([chainId]),
    declines: new Set(),
  }

  async function answer({ method, params = [] }: Ask): Promise<unknown> {
    wallet.asked.push(method)
    if (wallet.declines.has(method)) throw new WalletError(4001, 'User rejected the request.')
    switch (method) {
      case 'eth_requestAccounts':
        return [address]
      case 'eth_chainId':
        return `0x${wallet.chainId.toString(16)}`
      case 'wallet_switchEthereumChain': {
        const wanted = Number((params[0] as { chainId: string }).chainId)
        if (!wallet.known.has(wanted)) throw new WalletError(4902, 'Unrecognized chain ID.')
        wallet.chainId = wanted
        return null
      }
      case 'wallet_addEthereumChain': {
        const added = Number((params[0] as { chainId: string }).chainId)
        wallet.known.add(added)
        wallet.chainId = added
        return null
      }
      case 'eth_signTypedData_v4': {
        const data = JSON.parse(params[1] as string)
        wallet.signed.push(data)
        return account.signTypedData(data)
      }
      default: {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
        const headers = { 'content-type': 'application/json' }
        const reply = await fetch(rpcUrl, { method: 'POST', headers, body })
        return ((await reply.json()) as { result: unknown }).result
      }
    }
  }

  await page.exposeFunction('askTestWallet', async (ask: Ask) => {
    try {
      return { result: await answer(ask) }
    } catch (error) {
      return { error: { code: (error as WalletError).code ?? -32_603, message: (error as Error).message } }
    }
  })
  await page.addInitScript(`(() => {
    const provider = {
      async request(ask) {
        const { result, error } = await askTestWallet(ask)
        if (error) throw Object.assign(new Error(error.message), { code: error.code })
        return result
      },
    }
    const info = { uuid: ${JSON.stringify(name)}, name: ${JSON.stringify(name)}, rdns: 'example.wallet',
      icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="teal"/></svg>' }
    if (!${announces}) { window.ethereum = provider; return }
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  })()`)
  return wallet
}
