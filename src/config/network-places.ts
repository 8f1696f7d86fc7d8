import { didYouMean } from '../protocol/did-you-mean.ts'
import type { Network } from '../protocol/network.ts'
import { type ChosenNetworks, readNetworks } from './check-networks.ts'
import { NETWORK_OPTION_NAMES, NETWORK_VARIABLES, type NetworkOptionName } from './network-variables.ts'
import { createOptionReader, kindOf, type OptionReader } from './option-reader.ts'
import type { GatewayOptions, NetworkOptions, OptionName, OptionSource } from './options.ts'

/** A network, and a reader of the options as they are on it. */
export interface NetworkPlace {
  /** Undefined if the network is unknown: then only the form of the options is checked. */
  network: Network | undefined
  /** What the seller calls it. */
  named: string
  /** Reads this network's own settings, else those of all networks, and names what it read. */
  reader: OptionReader
  /** This network's own settings. */
  own: NetworkOptions
  /** The name of a setting of this network alone. */
  ownLabel(option: NetworkOptionName): string
  /** Whether it was given for this network alone. */
  isOwn(option: NetworkOptionName): boolean
}

/** One URL cannot be that of several chains. */
const NEVER_SHARED = ['rpcUrl', 'explorerTxUrl'] as const
/** Without any, a seller with several networks would rather set it for the one at hand. */
const OWN_IF_UNSET: readonly NetworkOptionName[] = [...NEVER_SHARED, 'facilitatorUrl', 'gasWalletPrivateKey']

/** The networks that the seller chose, each with its settings; at least one. */
export function readPlaces(
  reader: OptionReader,
  options: GatewayOptions,
  source: OptionSource,
): NetworkPlace[] {
  const networks = readNetworks(reader)
  const { chosen, several } = networks
  refuseStrangers(reader, options, source, networks)
  if (several) refuseShared(reader, networks)
  if (chosen.length === 0) {
    const ownLabel = (option: NetworkOptionName) => option
    return [{ network: undefined, named: '', reader, own: {}, ownLabel, isOwn: () => false }]
  }
  return chosen.map(({ network, named }) => ({
    network,
    named,
    ...placeOf(reader, options, source, { chainId: network.chainId, several }),
  }))
}

function placeOf(
  whole: OptionReader,
  options: GatewayOptions,
  source: OptionSource,
  { chainId, several }: { chainId: number; several: boolean },
) {
  const own: NetworkOptions = membersOf(membersOf(options.perNetwork)[chainId])
  const unreadable = new Set(source.unreadable)
  const isSet = (value: unknown) => value !== undefined && value !== null && value !== ''
  const isOwn = (name: NetworkOptionName) =>
    isSet(own[name]) || unreadable.has(`perNetwork.${chainId}.${name}`)
  const ownLabel = (name: NetworkOptionName) => ownLabelOf(source, chainId, name)
  const merged: Record<string, unknown> = { ...options }
  const renamed: { [N in OptionName]?: string } = {}
  for (const name of NETWORK_OPTION_NAMES) {
    if (name === 'nativeUsd') continue
    if (isOwn(name)) {
      merged[name] = own[name]
      renamed[name] = ownLabel(name)
      if (unreadable.has(`perNetwork.${chainId}.${name}`)) unreadable.add(name)
      else unreadable.delete(name)
    } else if (several && NEVER_SHARED.some((never) => never === name)) merged[name] = undefined
  }
  // A way to settle that is given for this network wins over another one that is given for all.
  if (isOwn('gasWalletPrivateKey') && !isOwn('facilitatorUrl')) merged.facilitatorUrl = undefined
  if (isOwn('facilitatorUrl') && !isOwn('gasWalletPrivateKey')) merged.gasWalletPrivateKey = undefined
  if (several) {
    for (const name of OWN_IF_UNSET) {
      if (!isSet(merged[name])) renamed[name as Exclude<NetworkOptionName, 'nativeUsd'>] = ownLabel(name)
    }
  }
  const { labels } = source
  const reader = createOptionReader(
    merged as unknown as GatewayOptions,
    { ...(labels && { labels }), unreadable: [...unreadable] },
    { reader: whole, renamed },
  )
  return { reader, own, ownLabel, isOwn }
}

function ownLabelOf({ labels }: OptionSource, chainId: number, name: NetworkOptionName): string {
  if (labels === undefined) return `perNetwork[${chainId}].${name}`
  return labels[`perNetwork.${chainId}.${name}`] ?? `${NETWORK_VARIABLES[name].variable}_${chainId}`
}

/** Settings of networks that are not chosen, or that do not exist. */
function refuseStrangers(
  reader: OptionReader,
  options: GatewayOptions,
  source: OptionSource,
  { chosen, complete }: ChosenNetworks,
): void {
  const given: unknown = options.perNetwork ?? {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    reader.fault(
      'perNetwork',
      `is ${kindOf(given)}; it must be an object, for example { 137: { rpcUrl: "https://…" } }.`,
    )
    return
  }
  const where = reader.label(reader.isGiven('networks') ? 'networks' : 'network')
  for (const [key, settings] of Object.entries(given)) {
    const place = `perNetwork[${/^\d+$/.test(key) ? key : JSON.stringify(key.slice(0, 40))}]`
    if (!/^[1-9]\d{0,14}$/.test(key)) {
      reader.faults.push(`${place} is no chain id; for example perNetwork: { 137: { rpcUrl: "https://…" } }.`)
    } else if (
      settings !== undefined &&
      (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    ) {
      reader.faults.push(
        `${place} is ${kindOf(settings)}; it must be an object, for example { rpcUrl: "https://…" }.`,
      )
    } else if (complete && !chosen.some(({ network }) => network.chainId === Number(key))) {
      for (const label of labelsOf(source, Number(key), settings))
        reader.faults.push(
          `${label} is for eip155:${key}, which ${where} does not name; add it there, or remove ${label}.`,
        )
    } else refuseUnknown(reader, place, settings)
  }
}

function refuseUnknown(reader: OptionReader, place: string, settings: unknown): void {
  for (const key of Object.keys(membersOf(settings))) {
    if (!NETWORK_OPTION_NAMES.some((name) => name === key))
      reader.faults.push(
        `${place}.${key.slice(0, 40)} is not an option${didYouMean(key, NETWORK_OPTION_NAMES) || '.'}`,
      )
  }
}

/** The variables that were set for a network; as options, its member of `perNetwork`. */
function labelsOf(source: OptionSource, chainId: number, settings: unknown): string[] {
  if (source.labels === undefined) return [`perNetwork[${chainId}]`]
  const names = NETWORK_OPTION_NAMES.filter((name) => Object.hasOwn(membersOf(settings), name))
  return names.map((name) => ownLabelOf(source, chainId, name))
}

function refuseShared(reader: OptionReader, { chosen }: ChosenNetworks): void {
  const inOptions = reader.label('rpcUrl') === 'rpcUrl'
  for (const name of NEVER_SHARED) {
    if (!reader.isGiven(name)) continue
    const own = chosen.map(({ network }) =>
      inOptions
        ? `perNetwork[${network.chainId}].${name}`
        : `${NETWORK_VARIABLES[name].variable}_${network.chainId}`,
    )
    const example = own.length > 0 ? `; set ${own.join(', ')} instead` : ''
    reader.fault(name, `is of one network, and there are several${example}.`)
  }
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}
