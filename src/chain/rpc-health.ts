import type { Block } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { readFinal } from './final-block.ts'
import type { Rpc } from './rpc.ts'
import { readBlock, readNumber, toQuantity } from './rpc-values.ts'

/** Why a node is left out. `behind`: it is still better than none. `wrong`: its answers must not be used at all. */
export interface Verdict {
  kind: 'behind' | 'wrong'
  reason: string
}

type Place = Pick<Network, 'chainId' | 'blockMs' | 'finalDepth'>

/** What one node says about the chain. */
export interface Shown {
  chainId: number
  latest: Block
  /** The height of its final block, if it knows one. */
  finalHeight: number | undefined
}

/** A node may be behind the others by this much time, or by a few blocks. */
const BEHIND_MS = 10_000
const BEHIND_BLOCKS = 3
/** A block is not believed if its time is this far in the future, or its number cannot have been reached yet. */
const AHEAD_SECONDS = 60
const JUMP = 1_000
const JUMP_PER_SECOND = 10

/**
 * Compares the nodes of one chain. The answer has an entry for each node: its verdict, undefined if it is good, or
 * `silent` if it did not say its chain and latest block.
 */
export async function surveyNodes(
  nodes: readonly Rpc[],
  place: Place,
  nowMs: number,
): Promise<Array<Verdict | undefined | 'silent'>> {
  const shown = await Promise.all(nodes.map((node) => readShown(node, place).catch(() => undefined)))
  const verdicts = judgeHeads(shown, place, nowMs)
  const sound = shown.map((one, index) => (verdicts[index]?.kind === 'wrong' ? undefined : one))
  const finals = sound.flatMap((one) => one?.finalHeight ?? [])
  if (finals.length > 0 && sound.filter(Boolean).length > 1) {
    // Final for every node that knows a final block.
    const height = Math.min(...finals)
    const hashes = await Promise.all(
      nodes.map((node, index) => (sound[index] ? hashAt(node, height).catch(() => undefined) : undefined)),
    )
    const agreed = mostShown(hashes)
    hashes.forEach((hash, index) => {
      if (hash === undefined || hash === agreed) return
      verdicts[index] = { kind: 'wrong', reason: `has another block ${height} than the other nodes` }
    })
  }
  return shown.map((one, index) => (one ? verdicts[index] : 'silent'))
}

/** Judges what the nodes say about the chain and its latest block, without asking anything. */
export function judgeHeads(
  shown: ReadonlyArray<Shown | undefined>,
  { chainId, blockMs }: Pick<Place, 'chainId' | 'blockMs'>,
  nowMs: number,
): Array<Verdict | undefined> {
  const ofChain = shown.flatMap((one) => (one?.chainId === chainId ? one.latest : []))
  const heightOfMost = middle(ofChain.map(({ number }) => number))
  const timeOfMost = middle(ofChain.map(({ timestamp }) => timestamp))
  const isAhead = ({ number, timestamp }: Block): boolean => {
    if (ofChain.length < 2) return false
    if (timestamp - Math.max(nowMs / 1000, timeOfMost) > AHEAD_SECONDS) return true
    return number - heightOfMost > JUMP + JUMP_PER_SECOND * Math.max(0, timestamp - timeOfMost)
  }
  const highest = Math.max(...ofChain.filter((latest) => !isAhead(latest)).map(({ number }) => number))
  const allowed = Math.max(BEHIND_BLOCKS, BEHIND_MS / blockMs)
  return shown.map((one): Verdict | undefined => {
    if (!one) return undefined
    const { number } = one.latest
    if (one.chainId !== chainId) {
      return { kind: 'wrong', reason: `answers chain id ${one.chainId} instead of ${chainId}` }
    }
    if (isAhead(one.latest)) {
      return { kind: 'wrong', reason: `names block ${number}, which the other nodes cannot have yet` }
    }
    if (highest - number <= allowed) return undefined
    return { kind: 'behind', reason: `is at block ${number}, ${highest - number} behind another node` }
  })
}

async function readShown(node: Rpc, { finalDepth }: Place): Promise<Shown> {
  const [chainId, latest, final] = await Promise.all([
    node.call('eth_chainId', []),
    node.call('eth_getBlockByNumber', ['latest', false]),
    finalDepth === null ? readFinal(node).catch(() => undefined) : undefined,
  ])
  const block = readBlock(latest)
  const finalHeight = finalDepth === null ? final?.number : Math.max(0, block.number - finalDepth)
  return { chainId: readNumber(chainId, 'chain id'), latest: block, finalHeight }
}

async function hashAt(node: Rpc, height: number): Promise<Hex> {
  return readBlock(await node.call('eth_getBlockByNumber', [toQuantity(height), false])).hash
}

/** The one in the middle; of two, the lower: a block that does not exist is a high one. */
function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
}

/** What most nodes show; if there is a tie, what the earliest of them shows, because the seller prefers it. */
function mostShown(hashes: ReadonlyArray<Hex | undefined>): Hex | undefined {
  const counts = new Map<Hex, number>()
  for (const hash of hashes) if (hash !== undefined) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return hashes.find((hash) => hash !== undefined && counts.get(hash) === most)
}
