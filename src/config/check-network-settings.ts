import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { addressFault, EXAMPLE_ADDRESS } from './check-wallet.ts'
import type { NetworkPlace } from './network-places.ts'
import { kindOf, type OptionReader } from './option-reader.ts'
import { urlFault } from './url-fault.ts'

const MAX_CONFIRMATIONS = 1000
const DEFAULT_GAS_SHARE = 0.5

/** Who is paid on this network. `networks` are all that are configured: the token of none of them may be paid. */
export function readWallet({ reader }: NetworkPlace, networks: readonly Network[]): Address | undefined {
  const text = reader.text('walletAddress')?.trim()
  if (text === undefined) {
    if (reader.value('walletAddress') === undefined) {
      // Not a valid address, on purpose: a copied one would send the money to a stranger.
      const example = reader.example('walletAddress', '0x and 40 hex digits')
      reader.miss(['walletAddress'], `it receives the USDC, for example ${example}`)
    }
    return undefined
  }
  const fault = addressFault(text) ?? tokenFault(text, networks)
  if (fault) reader.fault('walletAddress', fault)
  return fault ? undefined : (text.toLowerCase() as Address)
}

function tokenFault(text: string, networks: readonly Network[]): string | undefined {
  const token = networks.find((network) => network.token.address === text.toLowerCase())
  if (!token) return undefined
  const which =
    networks.length > 1
      ? `the ${token.token.symbol} contract of ${token.name}`
      : `the ${token.token.symbol} contract itself`
  return `is ${which}; money sent there is lost. Give your own wallet, for example ${EXAMPLE_ADDRESS}.`
}

/** The network with the seller's RPCs, explorer, confirmations and price of its coin; undefined if one of them is unusable. */
export function readChain(place: NetworkPlace): Network | undefined {
  const { reader, network } = place
  const rpcUrls = readRpcUrls(reader, network)
  const explorer = reader.url('explorerTxUrl', network?.explorerTxUrl ?? 'https://sepolia.basescan.org/tx/')
  const confirmations = readConfirmations(reader, network)
  const usd = readNativeUsd(place)
  if (!network || !rpcUrls) return undefined
  // The hash is appended: `/tx` alone would give `/tx0x…`.
  const explorerTxUrl = explorer === undefined || /[/=]$/.test(explorer) ? explorer : `${explorer}/`
  return {
    ...network,
    rpcUrls,
    explorerTxUrl: explorerTxUrl ?? network.explorerTxUrl,
    confirmations,
    native: { ...network.native, usd },
  }
}

function readRpcUrls(reader: OptionReader, network: Network | undefined): readonly string[] | undefined {
  if (reader.value('rpcUrl') === undefined) return network?.rpcUrls
  const texts = reader.texts('rpcUrl', ',')
  if (texts === undefined) return undefined
  const urls: string[] = []
  texts.forEach((text, index) => {
    const which = texts.length > 1 ? `(URL ${index + 1} of ${texts.length}) ` : ''
    const example = reader.example('rpcUrl', network?.rpcUrls[0] ?? 'https://sepolia.base.org')
    const fault = urlFault(text)
    if (fault !== undefined) reader.fault('rpcUrl', `${which}${fault}, for example ${example}`)
    else if (urls.includes(text)) reader.fault('rpcUrl', `${which}is there twice; keep it once.`)
    else urls.push(text)
  })
  return urls.length === texts.length ? urls : undefined
}

function readConfirmations(reader: OptionReader, network: Network | undefined): number {
  const standard = network?.confirmations ?? 1
  const value: unknown = reader.value('confirmations') ?? standard
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_CONFIRMATIONS)
    return value
  const found = typeof value === 'number' ? `${value}` : kindOf(value)
  const example = reader.example('confirmations', standard)
  reader.fault(
    'confirmations',
    `is ${found}; it must be a whole number from 1 to ${MAX_CONFIRMATIONS}, for example ${example}`,
  )
  return standard
}

function readNativeUsd({ reader, network, own, ownLabel }: NetworkPlace): number {
  const standard = network?.native.usd ?? 1
  const value: unknown = own.nativeUsd ?? standard
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  const found = typeof value === 'number' ? `${value}` : kindOf(value)
  reader.faults.push(
    `${ownLabel('nativeUsd')} is ${found}; it must be the price of one ${network?.native.symbol ?? 'coin'} in dollars, for example ${standard}.`,
  )
  return standard
}

/** `0.5` and `50%` are the same. */
export function readGasShare(reader: OptionReader): number {
  const value: unknown = reader.value('maxGasShare') ?? DEFAULT_GAS_SHARE
  const [, digits, percent] =
    typeof value === 'string' ? (/^(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(%?)$/.exec(value.trim()) ?? []) : []
  const share =
    typeof value === 'number'
      ? value
      : digits === undefined
        ? Number.NaN
        : Number(digits) / (percent ? 100 : 1)
  if (share >= 0 && share <= 1) return share
  const found =
    typeof value === 'number'
      ? `${value}`
      : typeof value === 'string'
        ? JSON.stringify(value.slice(0, 24))
        : kindOf(value)
  reader.fault(
    'maxGasShare',
    `is ${found}; it must be a number from 0 to 1 or a percentage, for example ${reader.example('maxGasShare', '50%')}`,
  )
  return DEFAULT_GAS_SHARE
}
