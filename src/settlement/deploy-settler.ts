import { createChainClient } from '../chain/chain-client.ts'
import { readSettler } from '../chain/check-settler.ts'
import { type Fees, firstFees, gasPolicyOf } from '../chain/gas-fees.ts'
import type { Call } from '../chain/multicall.ts'
import { createRpcPool } from '../chain/rpc-pool.ts'
import { readHex, readNumber } from '../chain/rpc-values.ts'
import { CREATE2_DEPLOYER, SETTLER, SETTLER_DEPLOY_DATA } from '../chain/settler.ts'
import { createTxSigner } from '../chain/tx-signer.ts'
import { ConfigError, UnavailableError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'

export type Deployed = { kind: 'there' } | { kind: 'deployed'; txHash: Hex }

const DEPLOYMENT: Call = { to: CREATE2_DEPLOYER, data: SETTLER_DEPLOY_DATA }
const POLL_MS = 500
const LONGEST_WAIT_MS = 180_000

/** Puts the settler contract on a network, unless it is there already. The wallet pays the gas and gets no right by it. */
export async function deploySettler(
  network: Network,
  privateKey: Hex,
  clock: Pick<Clock, 'now' | 'sleep'>,
): Promise<Deployed> {
  const rpc = createRpcPool(network)
  const chain = createChainClient({ rpc, network })
  const { chainId } = await chain.domain()
  if (chainId !== network.chainId)
    throw new ConfigError([`The RPC of ${network.name} is one of eip155:${chainId}, not of ${network.id}.`])

  const look = async (): Promise<boolean> => {
    const found = await readSettler(rpc)
    if (found !== 'different') return found === 'there'
    throw new ConfigError([
      `${SETTLER} on ${network.name} has other code than the settler contract: ask another RPC.`,
    ])
  }
  if (await look()) return { kind: 'there' }
  if (readHex(await rpc.call('eth_getCode', [CREATE2_DEPLOYER, 'latest']), 'code') === '0x')
    throw new ConfigError([
      `The deterministic deployment proxy is not on ${network.name} at ${CREATE2_DEPLOYER}; the settler contract cannot be deployed there before it.`,
    ])
  const txHash = await send(chain, privateKey)
  const endMs = clock.now() + LONGEST_WAIT_MS
  while (clock.now() < endMs) {
    const [mined] = await chain.mined([txHash])
    // Whoever else deployed it meanwhile made the same contract.
    if (mined && (await look())) return { kind: 'deployed', txHash }
    if (mined && !mined.success) throw new Error(`${txHash} on ${network.name} was reverted.`)
    await clock.sleep(POLL_MS)
  }
  throw new UnavailableError(`${network.name} (${txHash} is not mined yet; run the command again later)`)
}

async function send(chain: ReturnType<typeof createChainClient>, privateKey: Hex): Promise<Hex> {
  const { network, rpc } = chain
  const signer = createTxSigner(privateKey, network, () => DEPLOYMENT)
  const [state, pending, estimate] = await Promise.all([
    chain.wallet(signer.address),
    rpc.call('eth_getTransactionCount', [signer.address, 'pending']),
    rpc.call('eth_estimateGas', [{ from: signer.address, ...DEPLOYMENT }, 'latest']),
  ])
  // A running server uses the nonces of this wallet too.
  if (readNumber(pending, 'nonce') !== state.nonce)
    throw new ConfigError([
      `${signer.address} has transactions under way on ${network.name}; run this while nothing is sold, or while the server is stopped.`,
    ])
  const gas = Math.ceil(readNumber(estimate, 'gas estimate') * 1.25)
  const { maxFeePerGasWei, symbol, faucet } = gasPolicyOf(network)
  const fees: Fees = firstFees(state, maxFeePerGasWei)
  const cost = fees.maxFeePerGas * BigInt(gas)
  if (state.balanceWei < cost) {
    const free = faucet === undefined ? '' : ` Test ${symbol} is free at ${faucet}.`
    throw new ConfigError([
      `${signer.address} holds ${coins(state.balanceWei)} ${symbol} on ${network.name}, and deploying may cost ${coins(cost)}.${free}`,
    ])
  }
  // Only the nonce and the fees differ between signatures: what is called is the deployment, whatever `calls` are.
  const { raw, hash } = await signer.sign({ nonce: state.nonce, calls: [{}], gas, ...fees })
  const answer = await chain.submit(raw)
  if (answer === 'accepted' || answer === 'known') return hash
  const why = typeof answer === 'string' ? answer : answer.refused
  throw new UnavailableError(`${network.name} (the node did not accept the deployment: ${why})`)
}

const coins = (wei: bigint): string => (Number(wei) / 1e18).toFixed(6)
