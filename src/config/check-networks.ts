import { nearest } from '../protocol/did-you-mean.ts'
import type { Network } from '../protocol/network.ts'
import { findNetwork, NETWORKS } from '../protocol/networks.ts'
import { createOptionReader, type OptionReader } from './option-reader.ts'
import type { GatewayOptions } from './options.ts'
import { readCustomNetworks } from './read-custom-networks.ts'

/** A network, and the name that the seller gave it. */
export interface ChosenNetwork {
  network: Network
  named: string
}

export interface ChosenNetworks {
  /** In the seller's order, without those that are unknown or named twice. */
  chosen: ChosenNetwork[]
  /** More than one is named, even if not all of them are known. */
  several: boolean
  /** Whether all that are named were found. */
  complete: boolean
}

const DEFAULT = 'testnet'

/** The networks on which the seller wants to be paid. */
export function readNetworks(reader: OptionReader): ChosenNetworks {
  const custom = readCustomNetworks(reader)
  const option = reader.isGiven('networks') ? 'networks' : 'network'
  if (option === 'networks' && reader.isGiven('network'))
    reader.fault('network', `and ${reader.label('networks')} are both set; they mean the same, keep one.`)
  const names = namesOf(reader, option)
  if (names === undefined) return { chosen: [], several: false, complete: false }
  const chosen: ChosenNetwork[] = []
  let complete = true
  for (const named of names) {
    const network = findNetwork(named, [...NETWORKS, ...custom])
    const twin = chosen.find((other) => other.network.id === network?.id)
    if (!network) {
      reader.fault(option, unknown(named, custom, reader))
      complete = false
    } else if (twin) {
      const as = twin.named === named ? '' : `, as ${twin.named} and as ${named}`
      reader.fault(option, `names ${network.name} twice${as}; keep it once.`)
    } else chosen.push({ network, named })
  }
  refuseMixedMoney(reader, option, chosen)
  return { chosen, several: names.length > 1, complete }
}

/** The known networks that these options name, even if the options are faulty. */
export function chosenNetworks(options: GatewayOptions): Network[] {
  return readNetworks(createOptionReader(options, {})).chosen.map(({ network }) => network)
}

function namesOf(reader: OptionReader, option: 'network' | 'networks'): string[] | undefined {
  const value: unknown = reader.value(option) ?? DEFAULT
  if (typeof value !== 'string' && !Array.isArray(value)) {
    reader.text(option)
    return undefined
  }
  const list: unknown[] = typeof value === 'string' ? value.split(',') : value
  if (list.some((name) => typeof name !== 'string')) {
    reader.fault(option, `must be a text or a list of texts, for example ${reader.example(option, 'base')}`)
    return undefined
  }
  const names = list.map((name) => String(name).trim()).filter((name) => name !== '')
  if (names.length > 0) return names
  reader.fault(option, `names no network; for example ${reader.example(option, 'base')}`)
  return undefined
}

function unknown(name: string, custom: readonly Network[], reader: OptionReader): string {
  const among = [...NETWORKS, ...custom]
  const words = among.flatMap(({ word, aliases }) => [word, ...aliases])
  // Ids are close to each other: a similar one is another chain.
  const guess = /^eip155:/i.test(name) ? undefined : nearest(name, words)
  const meant = guess === undefined ? '; it' : `; did you mean "${guess}"? It`
  const other = reader.label('customNetworks')
  return `${JSON.stringify(name.slice(0, 40))} is unknown${meant} can be ${words.join(', ')}, their ids (eip155:8453), or what ${other} describes.`
}

/** A buyer's test money would buy what costs real money. */
function refuseMixedMoney(
  reader: OptionReader,
  option: 'network' | 'networks',
  chosen: readonly ChosenNetwork[],
): void {
  const tests = chosen.filter(({ network }) => network.testnet)
  if (tests.length === 0 || tests.length === chosen.length) return
  const real = chosen.filter(({ network }) => !network.testnet)
  const list = (some: readonly ChosenNetwork[]) => some.map(({ named }) => named).join(', ')
  reader.fault(
    option,
    `mixes test money (${list(tests)}) with real money (${list(real)}); keep one kind, and run a second server for the other.`,
  )
}
