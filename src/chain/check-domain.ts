import type { Settlement } from '../ports.ts'
import type { Network } from '../protocol/network.ts'
import { readDomain } from './read-domain.ts'
import type { Rpc } from './rpc.ts'
import type { RpcPool } from './rpc-pool.ts'

/** `good`: this node, at least, is one of the network. */
type Checked = { kind: 'good'; node: Rpc } | { kind: 'mismatch'; faults: string[] } | { kind: 'unreachable' }

/**
 * A token whose domain differs from our table would refuse every signature, so this is checked before the first
 * settlement, with what else the chain must have. One good node is enough; the pool leaves out those of another chain. `label` is what the seller calls
 * the RPC of this network.
 */
export function createDomainCheck(
  network: Network,
  label: string,
  { nodes, leaveOut }: Pick<RpcPool, 'nodes' | 'leaveOut'>,
  /** What else the chain must have; rejects if it cannot be asked. */
  lacks: (node: Rpc) => Promise<string[]> = async () => [],
  /** What is wrong here by what other chains have answered, which may come later. */
  lacksBeside: () => string[] = () => [],
) {
  let good: Checked | undefined

  async function checkNode({ host, rpc }: RpcPool['nodes'][number], index: number): Promise<Checked> {
    const { chainId, token } = network
    const found = await readDomain(rpc, token.address).catch(() => undefined)
    if (!found) return { kind: 'unreachable' }
    const expected = { chainId, ...token.domain, decimals: token.decimals }
    const which = nodes.length > 1 ? `${label} (${host})` : label
    const faults = (['chainId', 'name', 'version', 'decimals'] as const)
      .filter((field) => found[field] !== expected[field])
      .map(
        (field) =>
          `${which} answers ${field} ${found[field] ?? 'nothing'}; ${network.id} has ${expected[field]}. Use an RPC of ${network.id}.`,
      )
    if (faults.length === 0) {
      const lacking = await lacks(rpc).catch(() => undefined)
      if (!lacking) return { kind: 'unreachable' }
      return lacking.length > 0 ? { kind: 'mismatch', faults: lacking } : { kind: 'good', node: rpc }
    }
    leaveOut(index, `is not a node of ${network.id} with its token`)
    return { kind: 'mismatch', faults }
  }

  async function check(): Promise<Checked> {
    if (good) return good
    const checks = nodes.map(checkNode)
    const sound = checks.map(async (checked) => {
      const one = await checked
      return one.kind === 'good' ? one : Promise.reject(one)
    })
    // As soon as one is good: a node that does not answer must not hold up the others.
    good = await Promise.any(sound).catch(() => undefined)
    if (good) return good
    const faults = (await Promise.all(checks)).flatMap((one) => (one.kind === 'mismatch' ? one.faults : []))
    return faults.length > 0 ? { kind: 'mismatch', faults } : { kind: 'unreachable' }
  }

  const unfit = async (): Promise<string | undefined> => {
    const checked = await check()
    if (checked.kind === 'good') return lacksBeside()[0]
    return checked.kind === 'mismatch' ? checked.faults.join(' ') : 'the chain cannot be reached'
  }
  return {
    check,
    guard: (settlement: Settlement): Settlement => ({
      ...settlement,
      unavailable: async (sender) => (await unfit()) ?? settlement.unavailable(sender),
    }),
    async ready() {
      const fault = await unfit()
      if (fault) throw new Error(fault)
    },
  }
}
