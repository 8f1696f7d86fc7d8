import type { Network } from '../protocol/network.ts'
import { UPTO_SCHEME } from '../protocol/permit2.ts'

/** Names a rail in stored rows: `<network>/<token>/<scheme>`. */
export function railId(
  { id, token }: { id: string; token: Pick<Network['token'], 'address'> },
  scheme: string,
): string {
  return `${id}/${token.address}/${scheme}`
}

/** Whether payments on such a rail are maxima, whichever rails are configured now. */
export const isMeteredRail = (id: string): boolean => id.endsWith(`/${UPTO_SCHEME}`)

/** The address of the token of such a rail. */
export const assetOfRail = (id: string): string => id.split('/')[1] ?? ''

/** The CAIP-2 id of the network of such a rail. */
export const networkOfRail = (id: string): string => id.slice(0, id.indexOf('/'))
