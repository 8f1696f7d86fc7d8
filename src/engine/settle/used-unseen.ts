import type { AuthorizationRow } from '../../ports.ts'
import type { Core } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { lookAtChain } from './look-at-chain.ts'

/**
 * Of attempts that seem to have run out unused, those that the token says were used: a node may show the state of a block
 * before the logs of it, and whoever is told that nothing was paid pays again.
 */
export async function usedUnseen(
  core: Core,
  rail: OpenRail,
  rows: readonly AuthorizationRow[],
): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set()
  const signed = rows.map(({ auth }) => auth)
  const { results } = await lookAtChain(core, rail, signed)
  const used = rows.filter((_, index) => results[index]?.kind === 'used')
  return new Set(used.map(({ key }) => key))
}
