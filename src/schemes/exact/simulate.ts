import { ALONE_GAS, aloneGasLimit } from '../../chain/gas-limits.ts'
import {
  ARBITRUM_HEIGHT_CALL,
  BLOCK_NUMBER_CALL,
  BLOCK_TIMESTAMP_CALL,
  type Call,
  decodeAggregate3,
  encodeAggregate3,
  MULTICALL3,
} from '../../chain/multicall.ts'
import { onOneNode, type Rpc } from '../../chain/rpc.ts'
import { isBusy, isRevert } from '../../chain/rpc-answer.ts'
import { readBlock, readHex, readNumber, toQuantity } from '../../chain/rpc-values.ts'
import { canPayAlone, simulatedSender } from '../../chain/simulated-sender.ts'
import { UnavailableError } from '../../errors.ts'
import type { Block, SimResult, WalletState } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import type { Network } from '../../protocol/network.ts'
import type { SignedAuthorization } from './authorization.ts'
import { DEPLOY_CALL_GAS, isWrapped, unwrap, type Wrapped } from './eip6492.ts'
import { reasonOfRevert } from './revert-reason.ts'
import { encodeAuthorizationState, encodeTransfer, isEncodable } from './token-calls.ts'

/** Has no code, no known key and no role at the token: the result of a transfer must not depend on its sender. */
const NEUTRAL_SENDER = '0x000000000000000000000000000000000000dead'
/** About 10 million gas, which is below the limit of nodes for one `eth_call`. */
const MAX_PER_CALL = 100
const MAX_KNOWN = 10_000

const HEIGHT_CALL: Call = { to: MULTICALL3, data: BLOCK_NUMBER_CALL }

type Where = Pick<Network, 'token' | 'fees'>
type ReadWallet = (wallet: Address) => Promise<WalletState>

/** What earlier simulations have shown. */
interface Learned {
  withCode: Set<Address>
  /** The call that gives the height of the block in which it runs. */
  heightCall: Call | undefined
}

/**
 * Runs authorizations at the latest block: those of plain accounts together in one Multicall3 call, those of payers
 * with code each in a call of its own, so that none can burn the gas of the others. Which payers have code is asked
 * in the same batch; a payer that turns out to have code costs one more round, in which it is run alone.
 *
 * Code can tell a simulation from a transaction by its sender and gas price. So payers with code are simulated as if
 * `sender` sent the transaction, at the fees that it would offer.
 */
export function createSimulation(rpc: Rpc, where: Where, walletState: ReadWallet) {
  const learned: Learned = { withCode: new Set(), heightCall: undefined }
  return (auths: readonly SignedAuthorization[], sender?: Address) =>
    onOneNode(rpc, (node) => simulationOn(node, where, walletState, learned)(auths, sender))
}

function simulationOn(rpc: Rpc, { token, fees }: Where, walletState: ReadWallet, learned: Learned) {
  const asset = token.address
  const { withCode } = learned

  /** Learns how a contract reads the height. True: it is not as this round assumes. */
  async function learnHeight(): Promise<boolean> {
    if (learned.heightCall) return false
    const answer = await rpc.attempt('eth_call', [ARBITRUM_HEIGHT_CALL, 'latest'])
    // An error that is not the contract's says nothing about the chain; the block tells whether this round is right.
    if (!answer.ok && !isRevert(answer.error)) return false
    const answered = answer.ok && readHex(answer.result, 'height').length === 2 + 64
    learned.heightCall = answered ? ARBITRUM_HEIGHT_CALL : HEIGHT_CALL
    return answered
  }

  /** Learns which payers have code. True: one of them is not run alone in this round. */
  async function learnCode(payers: readonly Address[], alone: ReadonlySet<Address>): Promise<boolean> {
    const codes = await Promise.all(payers.map((payer) => rpc.call('eth_getCode', [payer, 'latest'])))
    let news = false
    if (withCode.size > MAX_KNOWN) withCode.clear()
    payers.forEach((payer, index) => {
      const hasCode = readHex(codes[index], 'code').length > 2
      news ||= hasCode && !alone.has(payer)
      if (hasCode) withCode.add(payer)
      // An EIP-7702 delegation can be removed again.
      else withCode.delete(payer)
    })
    return news
  }

  /**
   * Runs one Multicall3 call. All states are read before the first transfer, or our own simulated transfer would look
   * like a use.
   */
  async function runChunk(
    chunk: readonly SignedAuthorization[],
    alone: ReadonlySet<Address>,
    sender: Address | undefined,
  ) {
    const isAlone = ({ from, signature }: SignedAuthorization) => alone.has(from) || isWrapped(signature)
    const together = chunk.filter((auth) => !isAlone(auth))
    const calls: Call[] = [
      learned.heightCall ?? HEIGHT_CALL,
      { to: MULTICALL3, data: BLOCK_TIMESTAMP_CALL },
      ...chunk.map(({ from, nonce }) => ({ to: asset, data: encodeAuthorizationState(from, nonce) })),
      ...together.map((auth) => ({ to: asset, data: encodeTransfer(auth) })),
    ]
    const request = { from: NEUTRAL_SENDER, to: MULTICALL3, data: encodeAggregate3(calls) }
    const [answer, ...apart] = await Promise.all([
      rpc.call('eth_call', [request, 'latest']),
      ...chunk.map((auth) => (isAlone(auth) ? runAlone(auth, sender) : undefined)),
    ])
    const items = decodeAggregate3(readHex(answer, 'Multicall3 answer'), calls.length)
    if (!items) throw new UnavailableError(`the RPC (no Multicall3 at ${MULTICALL3})`)
    const [height, time, ...rest] = items
    const states = rest.slice(0, chunk.length)
    const transfers = rest.slice(chunk.length)
    const results = chunk.map((_, index): SimResult => {
      const state = states[index]!
      if (!state.ok) throw new UnavailableError(`the RPC (no token at ${asset})`)
      const transfer = apart[index] === undefined ? transfers.shift()! : undefined
      if (readNumber(state.data, 'authorizationState') !== 0) return { kind: 'used' }
      if (!transfer) return apart[index]!
      if (transfer.ok) return { kind: 'ok', alone: false }
      return { kind: 'fails', reason: reasonOfRevert(transfer.data) }
    })
    return {
      number: readNumber(height!.data, 'block number'),
      timestamp: readNumber(time!.data, 'block timestamp'),
      results,
    }
  }

  /**
   * A wallet that the facilitator will deploy first (EIP-6492): the simulated call deploys it and makes the transfer.
   */
  async function runDeploying(auth: SignedAuthorization, wrapped: Wrapped): Promise<SimResult> {
    const transfer = encodeTransfer({ ...auth, signature: wrapped.signature })
    const calls = [
      { to: wrapped.factory, data: wrapped.deploy },
      { to: asset, data: transfer },
    ]
    const request = { to: MULTICALL3, data: encodeAggregate3(calls), gas: toQuantity(DEPLOY_CALL_GAS) }
    const answer = await rpc.attempt('eth_call', [{ from: NEUTRAL_SENDER, ...request }, 'latest'])
    if (!answer.ok && isBusy(answer.error))
      throw new UnavailableError(`the RPC (eth_call: ${answer.error.message})`)
    const result = answer.ok
      ? decodeAggregate3(readHex(answer.result, 'Multicall3 answer'), calls.length)?.[1]
      : undefined
    if (result?.ok) return { kind: 'ok', alone: true }
    return { kind: 'fails', reason: result ? reasonOfRevert(result.data) : 'simulation_failed' }
  }

  async function runAlone(auth: SignedAuthorization, sender: Address | undefined): Promise<SimResult> {
    const wrapped = unwrap(auth.signature)
    if (wrapped) return runDeploying(auth, wrapped)
    const wallet = sender && (await walletState(sender))
    const request = {
      from: NEUTRAL_SENDER,
      to: asset,
      data: encodeTransfer(auth),
      gas: toQuantity(ALONE_GAS),
      ...(sender && wallet && simulatedSender(sender, wallet, fees)),
    }
    const answer = await rpc.attempt('eth_estimateGas', [request, 'latest'])
    if (answer.ok) {
      return { kind: 'ok', alone: true, gas: aloneGasLimit(readNumber(answer.result, 'gas estimate')) }
    }
    const { error } = answer
    // This is about our wallet, not about the payer.
    if (wallet && !canPayAlone(wallet)) throw new UnavailableError('the gas wallet')
    // The payer's code may choose the words of a revert: only what is none can be about our wallet, or about the node.
    if (isRevert(error)) return { kind: 'fails', reason: reasonOfRevert(error.data ?? '', error.message) }
    if (/insufficient funds for gas/i.test(error.message)) throw new UnavailableError('the gas wallet')
    if (isBusy(error)) throw new UnavailableError(`the RPC (eth_call: ${error.message})`)
    // Code that causes an unknown error in the node must fail only this payment, not the simulation of the others.
    return { kind: 'fails', reason: 'simulation_failed' }
  }

  /** The block that a call ran on: usually the one that was read with it. */
  async function identify(ran: { number: number; timestamp: number }, latest: Block): Promise<Block> {
    const same = (block: Block) => block.number === ran.number && block.timestamp === ran.timestamp
    if (same(latest)) return latest
    const block = readBlock(await rpc.call('eth_getBlockByNumber', [toQuantity(ran.number), false]))
    if (same(block)) return block
    // It may be the height that was read in the wrong way.
    learned.heightCall = undefined
    throw new UnavailableError('the RPC (a block that changed while it was read)')
  }

  async function simulateOnce(
    auths: readonly SignedAuthorization[],
    payers: readonly Address[],
    sender: Address | undefined,
  ) {
    const alone = new Set(withCode)
    const chunks: SignedAuthorization[][] = []
    // At least one call, even without payments: its block shows whether the block that the node names exists.
    for (let from = 0; from === 0 || from < auths.length; from += MAX_PER_CALL) {
      chunks.push(auths.slice(from, from + MAX_PER_CALL))
    }
    const [codeIsNews, heightIsNews, latest, ...ran] = await Promise.all([
      learnCode(payers, alone),
      learnHeight(),
      rpc.call('eth_getBlockByNumber', ['latest', false]).then(readBlock),
      ...chunks.map((chunk) => runChunk(chunk, alone, sender)),
    ])
    if (codeIsNews || heightIsNews) return undefined
    // Calls may have run on different blocks; all of them saw at least the lowest.
    const lowest = ran.reduce((low, next) => (next.number < low.number ? next : low))
    return { at: await identify(lowest, latest), results: ran.flatMap(({ results }) => results) }
  }

  return async (
    auths: readonly SignedAuthorization[],
    sender?: Address,
  ): Promise<{ at: Block; results: SimResult[] }> => {
    const sound = auths.filter(isEncodable)
    const payers = [...new Set(sound.map(({ from }) => from))]
    for (let round = 0; round < 3; round++) {
      const answer = await simulateOnce(sound, payers, sender)
      if (!answer) continue
      const results = auths.map((auth): SimResult => {
        return isEncodable(auth)
          ? answer.results.shift()!
          : { kind: 'fails', reason: 'malformed_authorization' }
      })
      return { at: answer.at, results }
    }
    throw new UnavailableError('the RPC (payers whose code keeps changing)')
  }
}
