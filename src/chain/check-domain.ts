import type { Chain, Settlement } from '../ports.ts'
import type { Network } from '../protocol/network.ts'
import type { ChainDomain } from './chain-client.ts'

type Checked = { kind: 'good' } | { kind: 'mismatch'; faults: string[] } | { kind: 'unreachable' }

/**
 * A token whose domain differs from our table would refuse every signature, so this is checked before the first
 * settlement.
 */
export function createDomainCheck(network: Network, chain: Chain & { domain(): Promise<ChainDomain> }) {
  let good = false
  async function check(): Promise<Checked> {
    if (good) return { kind: 'good' }
    let found: ChainDomain
    try {
      found = await chain.domain()
    } catch {
      return { kind: 'unreachable' }
    }
    const expected = { chainId: network.chainId, ...network.token.domain }
    const faults = (['chainId', 'name', 'version'] as const)
      .filter((field) => found[field] !== expected[field])
      .map(
        (field) =>
          `rpcUrl answers ${field} ${found[field]}; ${network.id} has ${expected[field]}. Use an RPC of ${network.id}.`,
      )
    good = faults.length === 0
    return good ? { kind: 'good' } : { kind: 'mismatch', faults }
  }
  const unfit = async (): Promise<string | undefined> => {
    const checked = await check()
    if (checked.kind === 'good') return undefined
    return checked.kind === 'mismatch' ? checked.faults.join(' ') : 'the chain cannot be reached'
  }
  return {
    check,
    guard: (settlement: Settlement): Settlement => ({
      ...settlement,
      unavailable: async () => (await unfit()) ?? settlement.unavailable(),
    }),
    async ready() {
      const fault = await unfit()
      if (fault) throw new Error(fault)
    },
  }
}
