import type { Hex } from '../protocol/hex.ts'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import { type ApprovalFees, approvalFees } from './approval-fees.ts'
import type { BuyerStep } from './buyer-step.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'
import { type Ask, NodeRefusal, rpcCall } from './rpc-call.ts'
import type { BuyerClock } from './send-until-decided.ts'
import type { BuyerAccount } from './sign-payment.ts'
import type { SignedPermit } from './signed-payment.ts'

export interface ApproveContext {
  account: BuyerAccount
  /** Undefined: the caller does not want approvals. Without an amount: the maximum of the call. */
  approval: { amountMicro?: bigint } | undefined
  fetch: typeof fetch
  storage: PaymentStorage
  clock: BuyerClock
  rpcUrlsOf(network: string): readonly string[]
  onStep(step: BuyerStep): void
}

const ALLOWANCE = '0xdd62ed3e'
const APPROVE = '0x095ea7b3'
const RPC_TIMEOUT_MS = 15_000
const LOOK_AFTER_MS = 1_000
const word = (value: bigint | Hex): string => BigInt(value).toString(16).padStart(64, '0')

/**
 * Lets Permit2 move what a metered payment needs, and waits until the chain shows it. The chain decides whether anything
 * is missing, never the seller. The signed transaction is stored before it is sent: another call, also after a
 * crash, sends that one and no second. Returns why it could not be done.
 */
export async function approvePermit2(
  context: ApproveContext,
  payment: StoredPayment,
  permit: SignedPermit,
  until: { deadlineMs: number; signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const { storage, onStep } = context
  const key = JSON.stringify(['approval', payment.network, permit.asset, permit.from])
  try {
    const ask = await nodeOf(context, payment.network, until.signal)
    const isEnough = async () => (await allowanceAt(ask, permit, 'latest')) >= permit.maxUnits
    for (;;) {
      const found = await storage.get(key)
      const signed =
        found || (await isEnough()) ? undefined : await signApproval(context, ask, payment, permit)
      const approval = found ?? (signed && (await storage.claim(key, signed)))
      // Asked once more under the claim: another call's approval may have been mined and forgotten meanwhile.
      if (!approval || (await isEnough())) {
        if (approval) await storage.forget(key, approval)
        return undefined
      }
      onStep({
        ...{ step: 'approve', network: payment.network, asset: permit.asset },
        amountMicro: BigInt(approval.amount),
      })
      const sent = await sendApproval(context, ask, permit, approval, until)
      await storage.forget(key, approval)
      if (sent === 'enough') return undefined
      if (sent !== 'used') return `the node refused the approval (${sent.refused})`
      // That of an earlier need may not suffice for this one.
      if (approval.header === signed?.header)
        return 'its approval was mined, reverted or replaced, and the allowance is still too low'
    }
  } catch (error) {
    until.signal?.throwIfAborted()
    return `the approval did not succeed (${error instanceof Error ? error.message : String(error)})`
  }
}

/** Asks the first node that is of this network. */
async function nodeOf(
  context: ApproveContext,
  network: string,
  signal: AbortSignal | undefined,
): Promise<Ask> {
  let why: unknown = new Error(`no RPC of ${network} is known; name one in rpcUrls`)
  for (const rpcUrl of context.rpcUrlsOf(network)) {
    const ask: Ask = (method, params) => {
      const timeout = AbortSignal.timeout(RPC_TIMEOUT_MS)
      const either = signal ? AbortSignal.any([signal, timeout]) : timeout
      return rpcCall(context.fetch, rpcUrl, method, params, either)
    }
    try {
      const chainId = Number(await ask('eth_chainId', []))
      if (`eip155:${chainId}` === network) return ask
      why = new Error(`the RPC is of eip155:${chainId} and the payment of ${network}`)
    } catch (error) {
      why = error
    }
  }
  throw why
}

async function allowanceAt(ask: Ask, { asset, from }: SignedPermit, block: string): Promise<bigint> {
  const data = `${ALLOWANCE}${word(from)}${word(PERMIT2_ADDRESS)}`
  const answer = await ask('eth_call', [{ to: asset, data }, block])
  if (answer === '0x') throw new Error('the RPC does not know the token')
  return BigInt(answer as string)
}

/** An approval has the shape of a stored payment; its subject names the nonce that it uses. */
async function signApproval(
  { account, approval }: ApproveContext,
  ask: Ask,
  { network, amount }: StoredPayment,
  { asset, from, maxUnits }: SignedPermit,
): Promise<StoredPayment> {
  const amountMicro = approval?.amountMicro ?? BigInt(amount)
  const units = (amountMicro * maxUnits) / BigInt(amount)
  const call = { to: asset, data: `${APPROVE}${word(PERMIT2_ADDRESS)}${word(units)}` as Hex }
  const fees: ApprovalFees = await approvalFees(ask, network, { from, ...call })
  const nonce = Number(await ask('eth_getTransactionCount', [from, 'pending']))
  const chainId = Number(network.slice('eip155:'.length))
  const header = await account.signTransaction!({ chainId, nonce, ...call, ...fees })
  return { header, subject: String(nonce), network, amount: String(amountMicro), validBefore: '0' }
}

/**
 * Sends an approval and waits until the allowance is enough, or its nonce is used without that. `refused`: no node has
 * it. The next one then takes the same nonce, so that never both are mined.
 */
async function sendApproval(
  { clock }: ApproveContext,
  ask: Ask,
  permit: SignedPermit,
  { header, subject }: StoredPayment,
  { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal | undefined },
): Promise<'enough' | 'used' | { refused: string }> {
  try {
    await ask('eth_sendRawTransaction', [header])
  } catch (error) {
    // A node that has it already, or in a block, says so with an error too.
    const next = Number(await ask('eth_getTransactionCount', [permit.from, 'pending']))
    if (error instanceof NodeRefusal && next <= Number(subject)) return { refused: error.message }
  }
  for (;;) {
    signal?.throwIfAborted()
    // Read at one block, because nodes behind one address may have different heights.
    const block = String(await ask('eth_blockNumber', []))
    const [allowance, used] = await Promise.all([
      allowanceAt(ask, permit, block),
      ask('eth_getTransactionCount', [permit.from, block]),
    ])
    if (allowance >= permit.maxUnits) return 'enough'
    // Asked again, because a block may have been added between the two answers.
    if (Number(used) > Number(subject))
      return (await allowanceAt(ask, permit, 'latest')) >= permit.maxUnits ? 'enough' : 'used'
    if (clock.now() + LOOK_AFTER_MS > deadlineMs)
      throw new Error('it is not mined yet; buy again, and the same one is sent')
    await clock.sleep(LOOK_AFTER_MS)
  }
}
