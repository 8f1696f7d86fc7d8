import type { Address, Hex } from '../protocol/hex.ts'
import { DECIMALS_CALL, NAME_CALL, VERSION_CALL } from './erc20.ts'
import { type Rpc, resultOf } from './rpc.ts'
import { isRevert } from './rpc-answer.ts'
import { readHex, readNumber } from './rpc-values.ts'

/** The token as the chain reports it; compared with our table at boot. */
export interface ChainDomain {
  chainId: number
  name: string
  version: string
  /** Undefined: the token does not say. */
  decimals: number | undefined
}

/** Rejects if the node cannot say: only what the token itself answers is an answer, be it that it reverts. */
export async function readDomain(rpc: Rpc, asset: Address): Promise<ChainDomain> {
  const ask = async (data: Hex): Promise<unknown> => {
    const answer = await rpc.attempt('eth_call', [{ to: asset, data }, 'latest'])
    return !answer.ok && isRevert(answer.error) ? '0x' : resultOf('eth_call', answer)
  }
  const [chainId, name, version, decimals] = await Promise.all([
    rpc.call('eth_chainId', []),
    ask(NAME_CALL),
    ask(VERSION_CALL),
    ask(DECIMALS_CALL),
  ])
  return {
    chainId: readNumber(chainId, 'chain id'),
    name: readText(name),
    version: readText(version),
    decimals: readDecimals(decimals),
  }
}

function readDecimals(result: unknown): number | undefined {
  if (readHex(result, 'decimals').length !== 2 + 64) return undefined
  return readNumber(result, 'decimals')
}

/** An ABI-encoded string; empty if there is none, so that the comparison at boot reports it. */
function readText(result: unknown): string {
  const bytes = Buffer.from(readHex(result, 'text').slice(2), 'hex')
  if (bytes.length < 64) return ''
  const length = readNumber(`0x${bytes.subarray(32, 64).toString('hex')}`, 'text length')
  return bytes.subarray(64, 64 + Math.min(length, 256)).toString('utf8')
}

/** Whether a contract lives at this address. A plain account that delegates to one (EIP-7702) still has its key. */
export async function hasCode(rpc: Rpc, address: Address): Promise<boolean> {
  const code = readHex(await rpc.call('eth_getCode', [address, 'latest']), 'code')
  return code !== '0x' && !code.startsWith('0xef0100')
}
