import { settlerFaults } from '../chain/check-settler.ts'
import { SETTLER } from '../chain/settler.ts'
import { type CheckPlace, nodesOf, ofNetwork, onNetwork } from './check-place.ts'
import type { Check } from './run-checks.ts'

/** Is the settler contract, to which batches are to be sent, on the chain? */
export function checkSettler(place: CheckPlace): Check {
  const { network, labels } = place
  const name = labels.settlerContract
  return {
    name,
    asks: `the RPC${ofNetwork(place)}, asked for the settler contract,`,
    fix: `Fix ${labels.rpcUrl} first.`,
    silence: 'warn',
    async run(limitMs) {
      const faults = await settlerFaults(nodesOf(network, limitMs), network, name)
      if (faults.length > 0) return faults.map((message) => ({ name, level: 'error', message }))
      return [{ name, level: 'ok', message: `the settler contract is at ${SETTLER}${onNetwork(place)}` }]
    },
  }
}
