import type { PayNetwork } from '../../src/transports/people/payment-page.ts'
import { Problem, wordsOf } from './problem.ts'
import type { Provider } from './wallets.ts'

const codeOf = (error: unknown): unknown => {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { originalError?: { code?: unknown } } }
  return data?.originalError?.code ?? code
}
const REJECTED = 4001
const UNKNOWN_CHAIN = 4902

/** Asks the wallet; what the person declines becomes a problem in words. */
async function ask(provider: Provider, what: string, method: string, params?: unknown): Promise<unknown> {
  try {
    return await provider.request({ method, ...(params !== undefined && { params }) })
  } catch (error) {
    if (codeOf(error) === REJECTED)
      throw new Problem(`${what} was declined in the wallet. Nothing was charged.`)
    throw error
  }
}

const orProblem = (error: unknown): never => {
  throw error instanceof Problem
    ? error
    : new Problem(`The wallet says: ${wordsOf(error)}. Nothing was charged.`)
}

/** The account that pays. */
export async function connect(provider: Provider): Promise<string> {
  const accounts = await ask(provider, 'The connection', 'eth_requestAccounts').catch(orProblem)
  const [account] = Array.isArray(accounts) ? accounts : []
  if (typeof account === 'string' && /^0x[0-9a-f]{40}$/i.test(account)) return account
  throw new Problem('The wallet has no account to pay from. Nothing was charged.')
}

/** Brings the wallet to the network that is paid on: typed data is signed for the chain that a wallet is on. */
export async function switchTo(provider: Provider, network: PayNetwork): Promise<void> {
  const isThere = async (): Promise<boolean> =>
    Number(await provider.request({ method: 'eth_chainId' })) === network.chainId
  const chainId = `0x${network.chainId.toString(16)}`
  const byHand = `Switch the wallet to ${network.name} (chain id ${network.chainId}) and pay again. Nothing was charged.`
  if (await isThere().catch(orProblem)) return
  try {
    await ask(provider, 'The switch of networks', 'wallet_switchEthereumChain', [{ chainId }])
  } catch (error) {
    if (error instanceof Problem) throw error
    if (codeOf(error) !== UNKNOWN_CHAIN || !network.rpcUrls) throw new Problem(byHand)
    const added = {
      chainId,
      chainName: network.name,
      rpcUrls: network.rpcUrls,
      nativeCurrency: { name: network.coin, symbol: network.coin, decimals: 18 },
      blockExplorerUrls: [new URL(network.explorerTxUrl).origin],
    }
    await ask(provider, `Adding ${network.name}`, 'wallet_addEthereumChain', [added]).catch(orProblem)
  }
  if (!(await isThere().catch(orProblem))) throw new Problem(byHand)
}

/** In the token's units; undefined where the wallet cannot say. */
export async function balanceOf(
  provider: Provider,
  token: string,
  account: string,
): Promise<bigint | undefined> {
  const data = `0x70a08231${account.slice(2).toLowerCase().padStart(64, '0')}`
  try {
    const answer = await provider.request({ method: 'eth_call', params: [{ to: token, data }, 'latest'] })
    return typeof answer === 'string' && /^0x[0-9a-f]{64}/i.test(answer)
      ? BigInt(answer.slice(0, 66))
      : undefined
  } catch {
    return undefined
  }
}

export async function signTypedData(provider: Provider, account: string, data: object): Promise<string> {
  const params = [account, JSON.stringify(data)]
  const signature = await ask(provider, 'The payment', 'eth_signTypedData_v4', params).catch(orProblem)
  if (typeof signature === 'string' && /^0x[0-9a-f]+$/i.test(signature)) return signature
  throw new Problem('The wallet answered with something that is no signature. Nothing was charged.')
}
