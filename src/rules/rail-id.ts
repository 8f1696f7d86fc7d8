import type { Network } from '../protocol/network.ts'

/** Names a rail in stored rows: `<network>/<token>/<scheme>`. */
export function railId({ id, token }: Pick<Network, 'id' | 'token'>, scheme: string): string {
  return `${id}/${token.address}/${scheme}`
}
