import { addressWord, word } from '../../chain/abi-words.ts'
import type { ChainClient } from '../../chain/chain-client.ts'
import { encodeBalanceOf } from '../../chain/erc20.ts'
import { ALONE_GAS, aloneGasLimit } from '../../chain/gas-limits.ts'
import { decodeAggregate3, encodeAggregate3, MULTICALL3 } from '../../chain/multicall.ts'
import { onOneNode, type Rpc } from '../../chain/rpc.ts'
import { isBusy, isRevert } from '../../chain/rpc-answer.ts'
import { readBig, readBlock, readHex, readNumber, toQuantity } from '../../chain/rpc-values.ts'
import { canPayAlone, simulatedSender } from '../../chain/simulated-sender.ts'
import { UnavailableError } from '../../errors.ts'
import type { Block, SimResult } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { PERMIT2_ADDRESS } from '../../protocol/permit2.ts'
import type { SignedPermit } from './permit.ts'
import { reasonOfSettlement } from './revert-reason.ts'
import { encodeSettle, settledAmount } from './settle-call.ts'

const NONCE_BITMAP = '4fe02b44' // nonceBitmap(address,uint256)
const ALLOWANCE = 'dd62ed3e' // allowance(address,address)

const encodeBitmap = (payer: Address, nonce: string): Hex =>
  `0x${NONCE_BITMAP}${addressWord(payer)}${word(BigInt(nonce) >> 8n)}`
const encodeAllowance = (payer: Address): Hex =>
  `0x${ALLOWANCE}${addressWord(payer)}${addressWord(PERMIT2_ADDRESS)}`

/**
 * What would happen if these permits were settled at the latest block, each for its charge, or for its maximum while
 * it has none. Every one is run by itself as a transaction of the wallet that its payer named, since only that wallet
 * may settle it. All answers are of one block, by its number.
 */
export function createUptoSimulation({ rpc, network, lastWalletState }: ChainClient) {
  async function funds(node: Rpc, { from, nonce }: SignedPermit, at: string) {
    const calls = [
      { to: PERMIT2_ADDRESS, data: encodeBitmap(from, nonce) },
      { to: network.token.address, data: encodeAllowance(from) },
      { to: network.token.address, data: encodeBalanceOf(from) },
    ]
    const answer = await node.call('eth_call', [{ to: MULTICALL3, data: encodeAggregate3(calls) }, at])
    const items = decodeAggregate3(readHex(answer, 'Multicall3 answer'), calls.length)
    if (!items?.every(({ ok, data }) => ok && data.length === 66))
      throw new UnavailableError(`the RPC (no Multicall3, Permit2 or token on ${network.name})`)
    const [bitmap, allowance, balance] = items.map(({ data }) => readBig(data, 'word')) as [
      bigint,
      bigint,
      bigint,
    ]
    return { isUsed: ((bitmap >> (BigInt(nonce) & 255n)) & 1n) === 1n, allowance, balance }
  }

  async function run(node: Rpc, permit: SignedPermit, at: string): Promise<SimResult> {
    const sender = permit.facilitator
    const state = await lastWalletState(sender)
    const request = {
      ...encodeSettle(permit),
      gas: toQuantity(ALONE_GAS),
      // Without fees a node does not ask what the sender holds. That it is empty is no fault of the payer's, and must
      // not fail the payments that other wallets settle.
      ...(canPayAlone(state) ? simulatedSender(sender, state, network.fees) : { from: sender }),
    }
    const answer = await node.attempt('eth_estimateGas', [request, at])
    if (answer.ok) {
      const gas = aloneGasLimit(readNumber(answer.result, 'gas estimate'))
      return { kind: 'ok', alone: true, gas, sender }
    }
    const { error } = answer
    // The payer's code chooses the words of a revert: only what is none may be about our wallet, or about the node.
    if (isRevert(error)) return { kind: 'fails', reason: reasonOfSettlement(error.data ?? '', error.message) }
    if (/insufficient funds for gas/i.test(error.message)) throw new UnavailableError('the gas wallet')
    if (isBusy(error)) throw new UnavailableError(`the RPC (eth_estimateGas: ${error.message})`)
    return { kind: 'fails', reason: 'simulation_failed' }
  }

  async function look(node: Rpc, permit: SignedPermit, at: string): Promise<SimResult> {
    const [{ isUsed, allowance, balance }, result, code] = await Promise.all([
      funds(node, permit, at),
      run(node, permit, at),
      node.call('eth_getCode', [permit.from, at]),
    ])
    if (isUsed) return { kind: 'used' }
    const amount = BigInt(settledAmount(permit))
    if (allowance < amount) return { kind: 'fails', reason: 'permit2_allowance_required' }
    if (balance < amount) return { kind: 'fails', reason: 'insufficient_funds' }
    if (result.kind !== 'ok') return result
    let least = balance
    if (allowance < least) least = allowance
    const plain = readHex(code, 'code').length === 2
    return { ...result, ...(plain && { plain }), funds: least.toString() }
  }

  return (permits: readonly SignedPermit[]): Promise<{ at: Block; results: SimResult[] }> =>
    onOneNode(rpc, async (node) => {
      const at = readBlock(await node.call('eth_getBlockByNumber', ['latest', false]))
      const tag = toQuantity(at.number)
      return { at, results: await Promise.all(permits.map((permit) => look(node, permit, tag))) }
    })
}
