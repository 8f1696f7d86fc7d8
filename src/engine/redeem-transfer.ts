import { GatewayError } from '../errors.ts'
import type { ChallengeRow, TransferTx } from '../ports.ts'
import { plainTransferKey } from '../rules/authorization-key.ts'
import { recordReceipt } from './confirm.ts'
import { type Core, getOne } from './core.ts'
import { sameCall } from './find-challenge.ts'
import { refuseDoubtful } from './look-at-chain.ts'
import { expireChallenge } from './open-challenge.ts'
import type { Intent, Outcome, TransferProof } from './outcome.ts'
import { handoverOf } from './redeem-payment.ts'
import { alreadyRedeemed, otherPurchase, settlementPending } from './refusals.ts'
import { failed, settledOutcome } from './settled-outcome.ts'

const MAX_RACES = 8
/** A transaction may hold transfers of many senders; asking each wallet contract in it would be work for nothing. */
const MAX_SENDERS = 8

/** `ordinal`: which of the transaction's transfers to the seller it is. */
type Transfer = TransferTx['transfers'][number] & { ordinal: number }
export type ProofIntent = Intent & { proof: TransferProof }

/**
 * Redeems a plain transfer that the buyer made by itself. Nothing has to be sent: the money has moved, so what is left
 * is to prove whose it is and that it serves one challenge only, and to record it (T2) like any other receipt.
 */
export async function redeemTransfer(core: Core, intent: ProofIntent): Promise<Outcome> {
  const { proof, challengeId } = intent
  const deadline = core.clock.now() + core.config.settleWaitMs
  for (let race = 0; race < MAX_RACES; race++) {
    const challenge = challengeId === undefined ? undefined : await getOne(core, 'challenges', challengeId)
    if (!challenge) {
      const message = `No challenge ${String(challengeId).slice(0, 80)} is stored; a transfer's proof names one.`
      return failed(core, new GatewayError('CHALLENGE_NOT_FOUND', message))
    }
    if (!sameCall(intent, challenge)) return failed(core, otherPurchase(challenge))
    const { at, found } = await core.chain.transfers(proof.txHash)
    await refuseDoubtful(core, at)
    if (!found || at.number - found.block.number + 1 < core.config.confirmations) {
      return failed(core, notMined(challenge))
    }
    const own = await ownTransfers(core, challenge, proof, found)
    if (own instanceof GatewayError) return failed(core, own)
    const { chainId } = core.config.network
    const keys = own.map(({ ordinal }) => plainTransferKey(chainId, proof.txHash, ordinal))
    const seen = await core.store.get('seen', keys)
    const settled = {
      challengeId: challenge.key,
      payer: own[0]!.from,
      deadline,
      handover: handoverOf(intent),
    }
    // `ref` of a seen row is the challenge that it serves.
    if (seen.some((row) => row?.ref === challenge.key)) {
      return (
        (await settledOutcome(core, { ...settled, fresh: false })) ??
        failed(core, settlementPending(challenge))
      )
    }
    const unused = seen.indexOf(undefined)
    if (unused === -1) return failed(core, alreadyRedeemed(challenge))
    // What is in flight may still fail: the transfer then pays, and is not sent back for nothing.
    if (challenge.liveAuth !== null) return failed(core, settlementPending(challenge))
    if (challenge.state === 'PENDING' && core.clock.now() >= challenge.expiresAt) {
      await expireChallenge(core, challenge)
      continue
    }
    const source = { key: keys[unused]!, challengeId: challenge.key, fromHeight: found.block.number }
    const claimed = { ...challenge, claimed: true }
    if (await recordReceipt(core, claimed, source, { ...own[unused]!, ...found }, [])) {
      const outcome = await settledOutcome(core, { ...settled, fresh: true })
      return outcome ?? failed(core, settlementPending(challenge))
    }
  }
  return failed(core, new GatewayError('INTERNAL_ERROR', 'Too many concurrent requests for this transfer.'))
}

/** The transfers of this transaction that could pay the challenge and whose sender signed the proof. */
async function ownTransfers(
  core: Core,
  challenge: ChallengeRow,
  { txHash, signature }: TransferProof,
  { block, transfers }: TransferTx,
): Promise<Transfer[] | GatewayError> {
  const refuse = (code: 'INVALID_PROOF' | 'AMOUNT_MISMATCH', message: string) =>
    new GatewayError(code, message, { challengeId: challenge.key })
  const ours = transfers
    .filter(({ to }) => to === challenge.payTo)
    .map((transfer, ordinal) => ({ ...transfer, ordinal }))
  if (ours.length === 0) {
    return refuse(
      'INVALID_PROOF',
      `Transaction ${txHash} has no plain transfer of the token to ${challenge.payTo}.`,
    )
  }
  // An older one was made for something else.
  if (block.timestamp < Math.floor(challenge.createdAt / 1000)) {
    return refuse(
      'INVALID_PROOF',
      `Transaction ${txHash} is older than the challenge; pay after asking for it.`,
    )
  }
  const text = `${challenge.key}:${txHash}`
  const senders = [...new Set(ours.map(({ from }) => from))].slice(0, MAX_SENDERS)
  const signed = await Promise.all(senders.map((sender) => core.signatures.signed(sender, text, signature)))
  const sender = senders.find((_, index) => signed[index])
  if (sender === undefined) {
    return refuse(
      'INVALID_PROOF',
      `The signature is not the sender's. The sender signs the text "<challengeId>:<txHash>" (EIP-191), with the hash in lower case.`,
    )
  }
  const sent = ours.filter(({ from }) => from === sender)
  const exact = sent.filter(({ value }) => value === challenge.amount)
  if (exact.length > 0) return exact
  const message = `The transfer is of ${sent[0]!.value}; the challenge asks ${challenge.amount}.`
  return refuse('AMOUNT_MISMATCH', `${message} It is not credited: ask the seller for it back.`)
}

function notMined(challenge: ChallengeRow): GatewayError {
  return new GatewayError(
    'SETTLEMENT_PENDING',
    'The transaction is not in a block yet. Send the same proof again; do not pay again.',
    { challengeId: challenge.key, retryAfterSeconds: 5 },
  )
}
