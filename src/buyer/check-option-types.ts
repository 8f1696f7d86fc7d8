import { AddressSchema } from '../protocol/hex.ts'
import { optionFaults } from '../protocol/option-faults.ts'
import { BuyerError } from './buyer-error.ts'
import type { BuyerNetwork } from './buyer-networks.ts'
import type { BuyerOptions } from './buyer-options.ts'
import type { PaymentStorage } from './payment-storage.ts'

const OPTIONS = Object.keys({
  account: true,
  maxAmount: true,
  maxTotal: true,
  credits: true,
  maxPlanAmount: true,
  metered: true,
  approvePermit2: true,
  allowedHosts: true,
  networks: true,
  allowedAssets: true,
  rpcUrls: true,
  validSeconds: true,
  maxResponseBytes: true,
  storage: true,
  fetch: true,
  onStep: true,
  beforeSign: true,
  maxWaitSeconds: true,
  clock: true,
} satisfies Record<keyof BuyerOptions, true>)

const NETWORK_FACTS = Object.keys({
  id: true,
  chainId: true,
  asset: true,
  domain: true,
  decimals: true,
} satisfies Record<keyof BuyerNetwork, true>)

const STORAGE_METHODS: ReadonlyArray<keyof PaymentStorage> = ['get', 'claim', 'forget', 'reserve', 'release']

type Loose = Readonly<Record<string, unknown>>

/** Throws for what is no option, and for an option of the wrong kind: both would be ignored, or fail at the first payment. */
export function checkOptionTypes(options: BuyerOptions): void {
  const [fault] = [...optionFaults(options, OPTIONS), ...faultsOf((options ?? {}) as unknown as Loose)]
  if (fault !== undefined) throw new BuyerError('BAD_OPTION', fault)
}

/** What was found is not repeated where it may be a key, or an address with one in it. */
function faultsOf(options: Loose): string[] {
  const faults: string[] = []
  const { account, storage, rpcUrls, maxWaitSeconds, maxResponseBytes } = options
  if (!isAccount(account))
    faults.push(
      'account must have an address and signTypedData, such as privateKeyToAccount("0x…") of viem/accounts',
    )
  for (const name of ['allowedHosts', 'networks', 'allowedAssets']) {
    const list = options[name]
    if (list !== undefined && !Array.isArray(list)) faults.push(`${name} must be a list`)
  }
  if (Array.isArray(options.networks)) faults.push(...options.networks.flatMap(networkFaults))
  const hosts = Array.isArray(options.allowedHosts) ? options.allowedHosts : []
  if (hosts.some((host) => typeof host !== 'string'))
    faults.push('allowedHosts must be a list of texts, for example ["api.example.com"]')
  for (const name of ['fetch', 'onStep', 'beforeSign']) {
    const given = options[name]
    if (given !== undefined && typeof given !== 'function') faults.push(`${name} must be a function`)
  }
  if (storage !== undefined) {
    const missing = STORAGE_METHODS.filter((name) => typeof (storage as Loose | null)?.[name] !== 'function')
    if (missing.length > 0)
      faults.push(`storage has no ${missing.join(', ')}; fileStorage(folder) and memoryStorage() have them`)
  }
  if (rpcUrls !== undefined) faults.push(...rpcFaults(rpcUrls))
  if (maxWaitSeconds !== undefined && !(typeof maxWaitSeconds === 'number' && maxWaitSeconds > 0))
    faults.push(`maxWaitSeconds is ${shown(maxWaitSeconds)}; it must be a positive number`)
  if (
    maxResponseBytes !== undefined &&
    !(Number.isSafeInteger(maxResponseBytes) && Number(maxResponseBytes) > 0)
  )
    faults.push(`maxResponseBytes is ${shown(maxResponseBytes)}; it must be a positive whole number`)
  return faults
}

/** Of one of `networks`, which is a word or what is known of a network. */
function networkFaults(given: unknown): string[] {
  if (typeof given === 'string') return []
  if (typeof given !== 'object' || given === null)
    return [
      `networks has ${shown(given)}; each is a word such as "base", or an object: id, chainId, asset, domain`,
    ]
  const network = given as Loose
  const missing = NETWORK_FACTS.filter((name) => name !== 'decimals' && network[name] === undefined)
  const faults = optionFaults(network, NETWORK_FACTS)
  if (missing.length > 0) faults.push(`${missing.join(', ')} is missing`)
  return faults.length > 0 ? [`networks has an object that cannot be used: ${faults.join(', ')}`] : []
}

function isAccount(account: unknown): boolean {
  if (typeof account !== 'object' || account === null) return false
  const { address, signTypedData } = account as Loose
  return AddressSchema.safeParse(address).success && typeof signTypedData === 'function'
}

function rpcFaults(rpcUrls: unknown): string[] {
  if (typeof rpcUrls !== 'object' || rpcUrls === null || Array.isArray(rpcUrls))
    return ['rpcUrls must be an object such as {"eip155:8453": "https://…"}']
  return Object.entries(rpcUrls).flatMap(([id, url]: [string, unknown]) => {
    if (!/^eip155:[1-9]\d*$/.test(id))
      return [`rpcUrls has ${shown(id)}; its keys are CAIP-2 ids such as "eip155:8453"`]
    const isUrl = typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)
    return isUrl || url === undefined ? [] : [`rpcUrls has no http or https address for ${shown(id)}`]
  })
}

/** As it was given, so that a text of digits is seen to be one. */
const shown = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
