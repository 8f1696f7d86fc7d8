import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { addressFault, canonicalKey, privateKeyFault } from './check-wallet.ts'
import type { NetworkPlace } from './network-places.ts'
import type { OptionReader } from './option-reader.ts'
import type { SettlementConfig } from './resolved-config.ts'

type Auth = Extract<SettlementConfig, { kind: 'facilitator' }>['auth']

/** Our own gas wallet if there is a key, otherwise a facilitator. */
export function readSettlement({
  reader,
  network,
  named,
  isOwn,
  ownLabel,
}: NetworkPlace): SettlementConfig | undefined {
  const keys = readGasKeys(reader)
  const url = reader.url('facilitatorUrl', 'https://x402.org/facilitator')?.replace(/\/+$/, '')
  const auth = readAuth(reader)
  const settler = reader.flag('settlerContract')
  if (keys !== undefined) {
    if (reader.value('facilitatorUrl') !== undefined) {
      const both = `${reader.label('facilitatorUrl')} and ${reader.label('gasWalletPrivateKey')}`
      reader.faults.push(`${both} are both set; keep one way to settle.`)
    }
    const [first, ...others] = keys
    return first && { kind: 'gas-wallet', privateKeys: [first, ...others], ...(settler && { settler }) }
  }
  if (settler)
    reader.fault(
      'settlerContract',
      `is for gas wallets, and payments${named && ` on ${named}`} are settled by a facilitator; set ${reader.label('gasWalletPrivateKey')} to settle with your own wallet, or ${ownLabel('settlerContract')} to false.`,
    )
  if (!network) return undefined
  const used = url ?? network.facilitatorUrl
  if (!used) {
    if (!reader.isGiven('facilitatorUrl') && !reader.isGiven('gasWalletPrivateKey'))
      refuseNoWay(reader, named)
    return undefined
  }
  if (auth?.kind === 'none' && needsKeys(used)) {
    reader.faults.push(
      `${reader.label('cdpApiKeyId')} and ${reader.label('cdpApiKeySecret')} are not set; the facilitator of ${named} needs them. Set both, or ${reader.label('facilitatorUrl')} to another one, or ${reader.label('gasWalletPrivateKey')} to settle with your own wallet.`,
    )
  }
  // Coinbase's keys are for Coinbase: a facilitator that was chosen for this network alone is another one.
  const foreign = auth?.kind === 'cdp' && isOwn('facilitatorUrl') && !needsKeys(used)
  return auth && { kind: 'facilitator', url: used, auth: foreign ? { kind: 'none' } : auth }
}

function refuseNoWay(reader: OptionReader, named: string): void {
  const [url, key] = [reader.label('facilitatorUrl'), reader.label('gasWalletPrivateKey')]
  reader.faults.push(
    `${url} and ${key} are not set, and no facilitator of ${named} is known; set ${key} to settle with your own wallet, or ${url} to a facilitator that settles there.`,
  )
}

export function readRefundKey(reader: OptionReader): Hex | null {
  const text = reader.text('refundWalletPrivateKey')?.trim()
  if (text === undefined) return null
  const fault = privateKeyFault(text)
  if (fault) reader.fault('refundWalletPrivateKey', fault)
  return fault ? null : canonicalKey(text)
}

export function readFactories(reader: OptionReader): Address[] {
  const texts = reader.texts('allowedWalletFactories', ',') ?? []
  return texts.flatMap((text, index) => {
    const which = texts.length > 1 ? `(address ${index + 1} of ${texts.length}) ` : ''
    const fault = addressFault(text)
    if (fault) reader.fault('allowedWalletFactories', which + fault)
    return fault ? [] : [text.toLowerCase() as Address]
  })
}

/** Undefined if none is given; empty if those given are unusable. */
function readGasKeys(reader: OptionReader): Hex[] | undefined {
  if (reader.value('gasWalletPrivateKey') === undefined) return undefined
  const texts = reader.texts('gasWalletPrivateKey', ',') ?? []
  const keys: Hex[] = []
  texts.forEach((text, index) => {
    const which = texts.length > 1 ? `(key ${index + 1} of ${texts.length}) ` : ''
    const key = canonicalKey(text)
    // Two lanes with one wallet would use the same nonces.
    const fault = privateKeyFault(text) ?? (keys.includes(key) ? 'is there twice; keep it once.' : undefined)
    if (fault) reader.fault('gasWalletPrivateKey', which + fault)
    else keys.push(key)
  })
  return keys
}

function readAuth(reader: OptionReader): Auth | undefined {
  const createAuthHeaders = reader.callback('createAuthHeaders')
  const apiKeyId = reader.text('cdpApiKeyId')
  const apiKeySecret = reader.text('cdpApiKeySecret')
  if ((apiKeyId === undefined) !== (apiKeySecret === undefined)) {
    const [set, unset] =
      apiKeyId === undefined
        ? (['cdpApiKeySecret', 'cdpApiKeyId'] as const)
        : (['cdpApiKeyId', 'cdpApiKeySecret'] as const)
    reader.fault(set, `is set without ${reader.label(unset)}; set both or neither.`)
    return undefined
  }
  if (apiKeyId !== undefined && apiKeySecret !== undefined) {
    if (createAuthHeaders)
      reader.fault('createAuthHeaders', `and ${reader.label('cdpApiKeyId')} are both set; keep one.`)
    return { kind: 'cdp', apiKeyId, apiKeySecret }
  }
  return createAuthHeaders ? { kind: 'headers', createAuthHeaders } : { kind: 'none' }
}

/** Coinbase's facilitator needs keys on every network. */
function needsKeys(url: string): boolean {
  const coinbase = findNetwork('mainnet')?.facilitatorUrl
  return !!coinbase && new URL(url).host === new URL(coinbase).host
}
