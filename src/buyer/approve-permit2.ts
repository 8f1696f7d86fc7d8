import type { Hex } from '../protocol/hex.ts'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import { type ApprovalFees, approvalFees } from './approval-fees.ts'
import type { BuyerStep } from './buyer-step.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'
import { type Ask, rpcCall } from './rpc-call.ts'
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
    // The approval of an earlier need may be under way, and may not suffice for this one.
    for (let found = await storage.get(key); ; found = undefined) {
      if ((await allowanceAt(ask, permit, 'latest')) >= permit.maxUnits) {
        if (found) await storage.forget(key, found)
        return undefined
      }
      const units = unitsToApprove(context, payment, permit)
      const approval =
        found ?? (await storage.claim(key, await signApproval(context, ask, payment, permit, units)))
      onStep({
        ...{ step: 'approve', network: payment.network, asset: permit.asset },
        amountMicro: BigInt(approval.amount),
      })
      const isEnough = await sendApproval(context, ask, permit, approval, until)
      await storage.forget(key, approval)
      if (isEnough) return undefined
      if (!found) return 'an approval was mined, and the allowance is still too low'
    }
  } catch (error) {
    until.signal?.throwIfAborted()
    return `the approval did not succeed (${error instanceof Error ? error.message : String(error)})`
  }
}

function unitsToApprove({ approval }: ApproveContext, { amount }: StoredPayment, { maxUnits }: SignedPermit) {
  const { amountMicro } = approval ?? {}
  return amountMicro === undefined ? maxUnits : (amountMicro * maxUnits) / BigInt(amount)
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
  { account }: ApproveContext,
  ask: Ask,
  { network, amount }: StoredPayment,
  { asset, from, maxUnits }: SignedPermit,
  units: bigint,
): Promise<StoredPayment> {
  const call = { to: asset, data: `${APPROVE}${word(PERMIT2_ADDRESS)}${word(units)}` as Hex }
  const fees: ApprovalFees = await approvalFees(ask, network, { from, ...call })
  const nonce = Number(await ask('eth_getTransactionCount', [from, 'pending']))
  const chainId = Number(network.slice('eip155:'.length))
  const header = await account.signTransaction!({ chainId, nonce, ...call, ...fees })
  const amountMicro = (units * BigInt(amount)) / maxUnits
  return { header, subject: String(nonce), network, amount: String(amountMicro), validBefore: '0' }
}

/** Sends an approval until its nonce is used. True: the allowance is enough. */
async function sendApproval(
  { clock }: ApproveContext,
  ask: Ask,
  permit: SignedPermit,
  { header, subject }: StoredPayment,
  { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  let refused: unknown
  // A node that has it already says so with an error. What counts is what becomes of it.
  await ask('eth_sendRawTransaction', [header]).catch((error: unknown) => {
    refused = error
  })
  for (;;) {
    signal?.throwIfAborted()
    // Read at one block, because nodes behind one address may have different heights.
    const block = String(await ask('eth_blockNumber', []))
    const [allowance, used] = await Promise.all([
      allowanceAt(ask, permit, block),
      ask('eth_getTransactionCount', [permit.from, block]),
    ])
    if (allowance >= permit.maxUnits) return true
    if (Number(used) > Number(subject)) return false
    if (clock.now() + LOOK_AFTER_MS > deadlineMs) {
      const said = refused instanceof Error ? `; ${refused.message}` : ''
      throw new Error(`it is not mined yet; buy again, and the same one is sent${said}`)
    }
    await clock.sleep(LOOK_AFTER_MS)
  }
}
