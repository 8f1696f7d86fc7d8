import type { NetworkConfig } from '../config/resolved-config.ts'
import { ConfigError } from '../errors.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'
import { findNetwork } from '../protocol/networks.ts'

const BLOCK = /^\d{1,15}$/
const PAIRS = /^[^=,]+=\d{1,15}(,[^=,]+=\d{1,15})*$/

/** Refuses what cannot be a block, before anything is opened. */
export function checkFromBlock(fromBlock: string | undefined): void {
  if (fromBlock === undefined || BLOCK.test(fromBlock) || PAIRS.test(fromBlock)) return
  throw new ConfigError([
    `--from-block is ${JSON.stringify(fromBlock)}; it must be a block's number, for example --from-block 21000000.`,
  ])
}

/** The networks to compare: all that are configured, or the one that is named. */
export function chooseNetworks(
  configured: readonly NetworkConfig[],
  name: string | undefined,
): NetworkConfig[] {
  if (name === undefined) return [...configured]
  const one = named(configured, name)
  if (one) return [one]
  throw new ConfigError([`--network is ${JSON.stringify(name)}; ${knownWords(configured, name)}`])
}

/** The first block of each network, by its id: `123` for a single one, `base=123,polygon=456` for several. */
export function firstBlocks(
  chosen: readonly NetworkConfig[],
  fromBlock: string | undefined,
): ReadonlyMap<string, number> {
  if (fromBlock === undefined) return new Map()
  if (BLOCK.test(fromBlock)) {
    const [only, second] = chosen
    if (!second) return new Map([[only!.network.id, Number(fromBlock)]])
    const pairs = chosen.map(({ network }) => `${network.word}=${fromBlock}`).join(',')
    throw new ConfigError([
      `--from-block is ${fromBlock}, and ${chosen.length} networks are compared; say of which it is the block: --from-block ${pairs}, or with --network ${only!.network.word}.`,
    ])
  }
  const faults: string[] = []
  const blocks = new Map<string, number>()
  for (const pair of fromBlock.split(',')) {
    const [name = '', block] = pair.trim().split('=')
    const one = named(chosen, name)
    if (!one) faults.push(`--from-block names ${JSON.stringify(name)}; ${knownWords(chosen, name)}`)
    else if (blocks.has(one.network.id))
      faults.push(`--from-block names ${JSON.stringify(name)} twice; keep one.`)
    else blocks.set(one.network.id, Number(block))
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return blocks
}

function named(among: readonly NetworkConfig[], name: string): NetworkConfig | undefined {
  const found = findNetwork(
    name,
    among.map(({ network }) => network),
  )
  return among.find(({ network }) => network === found)
}

function knownWords(among: readonly NetworkConfig[], name: string): string {
  const words = among.map(({ network }) => network.word)
  return `it can be ${words.join(' or ')}${didYouMean(name, words) || '.'}`
}
