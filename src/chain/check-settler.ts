import type { Network } from '../protocol/network.ts'
import type { Rpc } from './rpc.ts'
import { readHex } from './rpc-values.ts'
import { SETTLER, SETTLER_CODE } from './settler.ts'

/** What is at the settler's address: a transaction that is sent there where nothing is would succeed, and pay nobody. */
export async function readSettler(rpc: Rpc): Promise<'there' | 'missing' | 'different'> {
  const code = readHex(await rpc.call('eth_getCode', [SETTLER, 'latest']), 'code').toLowerCase()
  if (code === SETTLER_CODE) return 'there'
  return code === '0x' ? 'missing' : 'different'
}

/** Faults of a network whose gas wallets are to use the settler contract. `label` is what the seller calls that setting. */
export async function settlerFaults(rpc: Rpc, network: Network, label: string): Promise<string[]> {
  const found = await readSettler(rpc)
  if (found === 'there') return []
  const deploy = `paystile deploy-settler --network ${network.word}`
  if (found === 'missing')
    return [
      `${label} is set, but the settler contract is not on ${network.name} (${network.id}) at ${SETTLER}. Run: ${deploy}`,
    ]
  return [
    `${label} is set, but ${SETTLER} on ${network.name} (${network.id}) has other code than the settler contract, and no payment is sent there. Check the RPC, and that \`${deploy}\` finds the contract; or turn ${label} off.`,
  ]
}
