import type { Hex } from 'viem'
import { PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS } from '../protocol/permit2.ts'
import type { DevClient } from './dev-client.ts'
import permit2 from './test-permit2.json' with { type: 'json' }
import uptoProxy from './test-upto-proxy.json' with { type: 'json' }

export { PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS }

/** Places stand-ins for both where the real ones are. */
export async function placePermit2(client: DevClient): Promise<void> {
  await client.setCode({ address: PERMIT2_ADDRESS, bytecode: permit2.deployedBytecode as Hex })
  await client.setCode({ address: UPTO_PROXY_ADDRESS, bytecode: uptoProxy.deployedBytecode as Hex })
}
