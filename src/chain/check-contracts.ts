import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS } from '../protocol/permit2.ts'
import { MULTICALL3 } from './multicall.ts'
import { hasCode } from './read-domain.ts'
import type { Rpc } from './rpc.ts'

/** Metered calls are settled by two contracts, which not every chain has. Rejects if the node cannot say. */
export async function meteredFaults(node: Rpc, { name: chain }: Pick<Network, 'name'>): Promise<string[]> {
  const contracts: Record<string, Address> = {
    Permit2: PERMIT2_ADDRESS,
    'the proxy of scheme upto': UPTO_PROXY_ADDRESS,
  }
  const found = await Promise.all(
    Object.entries(contracts).map(async ([name, address]) => {
      if (await hasCode(node, address)) return []
      return [
        `${name} (${address}) is not on ${chain}, so no route with scheme "upto" can be sold there: give the routes a fixed price, or leave that network out.`,
      ]
    }),
  )
  return found.flat()
}

/** Payments are simulated together by Multicall3, whoever settles them. Rejects if the node cannot say. */
export async function multicallFaults(
  node: Rpc,
  { name, id }: Pick<Network, 'name' | 'id'>,
): Promise<string[]> {
  if (await hasCode(node, MULTICALL3)) return []
  return [
    `Multicall3 (${MULTICALL3}) is not on ${name} (${id}), and every payment is looked at by it before it is taken: deploy it there, or leave that network out.`,
  ]
}
