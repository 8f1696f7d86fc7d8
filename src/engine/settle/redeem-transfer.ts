import { GatewayError } from '../../errors.ts'
import type { ChallengeRow, TransferTx } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { isPaidBy } from '../../rules/ownership.ts'
import { isMeteredRail } from '../../rules/rail-id.ts'
import { plainTransferKey } from '../../rules/transfer-key.ts'
import { expireChallenge, requestPointer } from '../challenge/open-challenge.ts'
import { formerWallets, rebuildPaidOffer, repeatsOffer } from '../challenge/rebuild-offer.ts'
import { isSameCall } from '../challenge/request-names.ts'
import { type Core, getOne, MAX_RACES } from '../core.ts'
import { responderOf } from '../deliver/deliver-route.ts'
import { failed, type SettlementWait, settledOutcome } from '../deliver/settled-outcome.ts'
import { isSettler } from '../metered/settlers.ts'
import type { Intent, Outcome, TransferProof } from '../outcome.ts'
import type { OpenRail } from '../rails.ts'
import {
  alreadyRedeemed,
  otherThanProven,
  settlementPending,
  transferGoesBack,
  usedWithoutSale,
} from '../refusals.ts'
import { recordReceipt } from './confirm.ts'
import { refuseDoubtful } from './look-at-chain.ts'

/**
 * A transaction may hold fitting transfers from many senders. The limit keeps a proof from causing a question to each
 * of their wallet contracts.
 */
const MAX_SENDERS = 8

/** `ordinal`: its index among the transaction's transfers to the seller. */
type Transfer = TransferTx['transfers'][number] & { ordinal: number }
export type ProofIntent = Intent & { proof: TransferProof }

/**
 * Redeems a plain transfer that the buyer made without us. The money has moved already. What remains is to check who
 * sent it and that it serves only one challenge, and to record it (T2, the confirmation) like any other receipt.
 */
export async function redeemTransfer(core: Core, intent: ProofIntent): Promise<Outcome> {
  const { proof, challengeId = '' } = intent
  const limited = core.payers.refuseProof(challengeId)
  if (limited) return failed(core, limited)
  const deadline = core.clock.now() + core.config.settleWaitMs
  for (let race = 0; race < MAX_RACES; race++) {
    const paid = await findPaid(core, intent)
    if (paid instanceof GatewayError) return failed(core, paid)
    const { challenge, rail, found } = paid
    if (await isSettler(core, rail, found.sender)) return failed(core, settledByUs(challenge, proof))
    const own = await ownTransfers(core, rail, challenge, proof, found)
    if (own instanceof GatewayError) return failed(core, own)
    const { transfers, byKey } = own
    const { chainId } = rail.network
    const keys = transfers.map(({ ordinal }) => plainTransferKey(chainId, proof.txHash, ordinal))
    const seen = await core.store.get('seen', keys)
    const settled = {
      challengeId: challenge.key,
      owner: { payer: transfers[0]!.from, network: rail.network.id, byKey },
      deadline,
      responder: responderOf(intent),
    }
    // `ref` of a seen row is the challenge that it serves.
    if (seen.some((row) => row?.ref === challenge.key)) {
      return outcomeOf(core, challenge, { ...settled, fresh: false })
    }
    const unused = seen.indexOf(undefined)
    if (unused === -1) {
      const refusal = challenge.state === 'PENDING' ? usedWithoutSale : alreadyRedeemed
      return failed(core, refusal(challenge))
    }
    // The payment in flight may still fail, and this transfer can then pay. Recorded now, it would be refunded as
    // surplus.
    if (challenge.liveAuth !== null) return failed(core, settlementPending(challenge))
    if (challenge.state === 'PENDING' && (await isOver(core, challenge))) {
      await expireChallenge(core, challenge)
      continue
    }
    const transfer = transfers[unused]!
    const origin = {
      key: keys[unused]!,
      challengeId: challenge.key,
      fromHeight: found.block.number,
      source: { kind: 'transfer' as const, ordinal: transfer.ordinal, to: transfer.to },
    }
    const claimed = { ...challenge, claimed: true }
    const inserts = isStored(challenge) ? [] : [requestPointer(challenge)]
    if (await recordReceipt(core, rail, claimed, origin, { ...transfer, ...found }, inserts)) {
      return outcomeOf(core, challenge, { ...settled, fresh: true })
    }
  }
  return failed(core, new GatewayError('INTERNAL_ERROR', 'Too many concurrent requests for this transfer.'))
}

/** What a recorded transfer bought. Beside the payment of another payer it is surplus. */
async function outcomeOf(core: Core, { key }: ChallengeRow, wait: SettlementWait): Promise<Outcome> {
  const challenge = await getOne(core, 'challenges', key)
  if (challenge && challenge.payer !== null && !isPaidBy(challenge, wait.owner)) {
    return failed(core, transferGoesBack(challenge))
  }
  return (await settledOutcome(core, wait)) ?? failed(core, settlementPending({ key }))
}

/** The challenge that the proof is for, stored or rebuilt, and its transaction on the chain. */
async function findPaid(core: Core, intent: ProofIntent) {
  const { proof, challengeId = '' } = intent
  const stored = await getOne(core, 'challenges', challengeId)
  if (!stored && !repeatsOffer(intent)) return notStored(challengeId)
  const misfit = stored && misfitOf(intent, stored)
  if (misfit) return misfit
  const opened = stored?.offeredRail ?? stored?.rail ?? core.rails.preferredFor({}).id
  const rail = railOf(core, opened, intent)
  if (rail instanceof GatewayError) return rail
  const { at, found } = await rail.transfers(proof.txHash)
  await refuseDoubtful(core, rail, at)
  if (!found || at.number - found.block.number + 1 < rail.confirmations) return notMined(core, rail, intent)
  if (stored) return { challenge: stored, rail, found }
  const rebuilt = rebuildPaidOffer(core, intent, rail, found.transfers)
  if (!rebuilt) return notProven(challengeId)
  return misfitOf(intent, rebuilt) ?? { challenge: rebuilt, rail, found }
}

/** Why this challenge cannot be paid by a transfer, or by one of this request. */
function misfitOf(intent: Intent, challenge: ChallengeRow): GatewayError | undefined {
  if (isMeteredRail(challenge.rail)) {
    const message =
      'A metered call is paid by scheme upto, not by a transfer. Ask the seller for the transfer back.'
    return new GatewayError('INVALID_PROOF', message, { challengeId: challenge.key })
  }
  return isSameCall(intent, challenge) ? undefined : otherThanProven(challenge)
}

const isStored = ({ version }: ChallengeRow): boolean => version > 0

/** Nothing can be bought by it any more; what was paid goes back. */
async function isOver(core: Core, challenge: ChallengeRow): Promise<boolean> {
  if (core.clock.now() >= challenge.expiresAt) return true
  // The store lost it, and its buyer asked again under the same name.
  return !isStored(challenge) && (await getOne(core, 'requests', challenge.requestId)) !== undefined
}

/** The rail of the network that the proof names. */
function railOf(core: Core, opened: string, { proof, challengeId }: ProofIntent): OpenRail | GatewayError {
  const { network } = proof
  if (network === undefined || network === core.rails.find(opened)?.network.id)
    return core.rails.of({ rail: opened })
  const named = core.rails.all.find((rail) => rail.network.id === network && !rail.scheme.metered)
  if (named) return named
  const known = [...new Set(core.rails.all.map((rail) => rail.network.id))].join(', ')
  return new GatewayError(
    'INVALID_PROOF',
    `The proof names network ${network.slice(0, 40)}; this gateway is paid on ${known}.`,
    { challengeId },
  )
}

interface OwnTransfers {
  /** All to the same wallet. */
  transfers: Transfer[]
  /** The sender signed with its own key. */
  byKey: boolean
}

/** The transfers of this transaction that could pay the challenge and whose sender signed the proof. */
async function ownTransfers(
  core: Core,
  rail: OpenRail,
  challenge: ChallengeRow,
  proof: TransferProof,
  found: TransferTx,
): Promise<OwnTransfers | GatewayError> {
  const { payTo, amount } = core.rails.termsOn(challenge, rail)
  // A record names the wallet of one rail; on the others its offer may have named one that was replaced since.
  const wallets = new Set([payTo, ...formerWallets(core, rail, challenge)])
  const paid = [...wallets].filter((wallet) => found.transfers.some(({ to }) => to === wallet))
  const [first = payTo, ...others] = paid
  let own = await ownTransfersTo(first, rail, { ...challenge, amount }, proof, found)
  for (const wallet of others) {
    if (!(own instanceof GatewayError)) break
    own = await ownTransfersTo(wallet, rail, { ...challenge, amount }, proof, found)
  }
  return own
}

async function ownTransfersTo(
  payTo: Address,
  rail: OpenRail,
  /** With its amount on this rail. */
  challenge: Pick<ChallengeRow, 'key' | 'amount' | 'createdAt'>,
  { txHash, signature }: TransferProof,
  { block, transfers }: TransferTx,
): Promise<OwnTransfers | GatewayError> {
  const refuse = (code: 'INVALID_PROOF' | 'AMOUNT_MISMATCH', message: string) =>
    new GatewayError(code, message, { challengeId: challenge.key })
  const ours = transfers
    .filter(({ to }) => to === payTo)
    .map((transfer, ordinal) => ({ ...transfer, ordinal }))
  if (ours.length === 0) {
    return refuse('INVALID_PROOF', `Transaction ${txHash} has no plain transfer of the token to ${payTo}.`)
  }
  // A transfer from before the challenge was made for something else.
  if (block.timestamp < Math.floor(challenge.createdAt / 1000)) {
    return refuse(
      'INVALID_PROOF',
      `Transaction ${txHash} is older than the challenge; pay after asking for it.`,
    )
  }
  const { amount } = challenge
  const exact = ours.filter(({ value }) => value === amount)
  if (exact.length === 0) {
    const message = `The transfer is of ${ours[0]!.value}; the challenge asks ${amount}.`
    return refuse('AMOUNT_MISMATCH', `${message} It is not credited: ask the seller for it back.`)
  }
  const text = `${challenge.key}:${txHash}`
  const senders = [...new Set(exact.map(({ from }) => from))].slice(0, MAX_SENDERS)
  const byCode = new Set<string>()
  const signed = await Promise.all(
    senders.map((sender) => {
      const askCode = () => {
        byCode.add(sender)
        return true
      }
      return rail.hasSigned(sender, text, signature, askCode)
    }),
  )
  const sender = senders.find((_, index) => signed[index])
  if (sender === undefined) {
    return refuse(
      'INVALID_PROOF',
      `The signature is not the sender's. The sender signs the text "<challengeId>:<txHash>" (EIP-191), with the hash in lower case.`,
    )
  }
  return { transfers: exact.filter(({ from }) => from === sender), byKey: !byCode.has(sender) }
}

function settledByUs({ key }: ChallengeRow, { txHash }: TransferProof): GatewayError {
  const message = `Transaction ${txHash} is one of the gateway's own: it settled another payment, and proves no transfer of yours.`
  return new GatewayError('INVALID_PROOF', message, { challengeId: key })
}

function notStored(challengeId: string): GatewayError {
  const name = challengeId.slice(0, 80)
  return new GatewayError(
    'CHALLENGE_NOT_FOUND',
    `No challenge ${name} is stored; a transfer's proof names one.`,
    {
      hint:
        'if you have paid it, do not pay again: send the proof with an AccessRequest that repeats the planId (or routeId and resource) ' +
        'and the requestId of its offer, and the transfer is paid back',
    },
  )
}

function notProven(challengeId: string): GatewayError {
  const name = challengeId.slice(0, 80)
  return new GatewayError(
    'CHALLENGE_NOT_FOUND',
    `No challenge ${name} is stored, and its id does not show that this transaction pays an offer of what the AccessRequest repeats.`,
    {
      hint:
        'if you have paid it, do not pay again: repeat the planId (or routeId and resource) and the requestId exactly as they were ' +
        'offered; where you did, the transfer is not of the price or not to the wallet of the offer: ask the seller for it back',
    },
  )
}

function notMined({ rails }: Core, { network }: OpenRail, { challengeId, proof }: ProofIntent): GatewayError {
  const isOneOfSeveral = rails.all.some((rail) => rail.network.id !== network.id)
  const elsewhere =
    proof.network === undefined && isOneOfSeveral
      ? ' If it is on another network, add its network to the proof.'
      : ''
  return new GatewayError(
    'SETTLEMENT_PENDING',
    `The transaction is in no block of ${network.name} (${network.id}) yet, or in too new a one. Send the same proof again; do not pay again.${elsewhere}`,
    { challengeId, retryAfterSeconds: 5 },
  )
}
