import type { Network, Token } from '../protocol/network.ts'
import { unitsToDollars } from '../rules/token-amount.ts'
import { authorizationKey } from '../schemes/exact/authorization.ts'
import { askedUnits, askedWords } from './asked.ts'
import type { Discrepancy } from './discrepancy.ts'
import { type LedgerIndex, placeKey, type Receipt } from './ledger-index.ts'
import type { Movement, TokenBook } from './token-book.ts'

/** Compares the money that came in with receipts and deliveries. */
export async function comparePayments(parts: {
  index: LedgerIndex
  book: Pick<TokenBook, 'nonceOf' | 'permitOf'>
  network: Network
  /** Without those of the seller's own wallets that no receipt tells of. */
  incoming: readonly Movement[]
  fromBlock: number
  toBlock: number
  /** What the seller calls the setting of this network's RPC. */
  rpcName: string
}): Promise<Discrepancy[]> {
  const { index, incoming, fromBlock, toBlock, rpcName, network } = parts
  const { token } = network
  const found: Discrepancy[] = []
  const seen = new Set<Receipt>()
  for (const movement of incoming) {
    const receipt = index.byPlace.get(placeKey(movement))
    if (receipt) seen.add(receipt)
    const told = receipt ? differs(receipt, movement, token) : await unplaced(parts, movement, seen)
    if (told) found.push(told)
  }
  for (const receipt of index.receipts.values()) {
    const { blockNumber, lost, account } = receipt
    if (!lost && !seen.has(receipt) && blockNumber >= fromBlock && blockNumber <= toBlock) {
      found.push(notOnChain(receipt, token, rpcName))
    }
    if (!lost && receipt.role === 'pays' && receipt.value !== askedUnits(account, token)) {
      const asked = account.chargedUnits === undefined ? 'its challenge asked' : 'its call was charged'
      found.push(
        about(receipt, 'receipt-differs', {
          message: `the receipt is of ${unitsToDollars(token, receipt.value)}, and ${asked} ${askedWords(account, token)}`,
          fix: 'Compare the record with the transaction on the explorer, and ask the buyer.',
        }),
      )
    }
  }
  return [...found, ...unpaidDeliveries(index, token)]
}

function differs(receipt: Receipt, { from, value }: Movement, token: Token): Discrepancy | undefined {
  const wrong = [
    ...(receipt.value === value
      ? []
      : [`${unitsToDollars(token, receipt.value)} instead of ${unitsToDollars(token, value)}`]),
    ...(receipt.payer === from ? [] : [`payer ${receipt.payer} instead of ${from}`]),
  ]
  if (wrong.length === 0) return undefined
  return about(receipt, 'receipt-differs', {
    message: `the receipt says ${wrong.join(' and ')}`,
    fix: 'The chain is right. Look who changed the record, and restore it from a backup.',
  })
}

/** A transfer without a receipt: its authorization is known, or nothing of it is. */
async function unplaced(
  {
    index,
    book,
    network,
  }: { index: LedgerIndex; book: Pick<TokenBook, 'nonceOf' | 'permitOf'>; network: Network },
  movement: Movement,
  seen: Set<Receipt>,
): Promise<Discrepancy | undefined> {
  const { txHash, from } = movement
  const amount = unitsToDollars(network.token, movement.value)
  const nonce = await book.nonceOf(movement)
  const permit = nonce === undefined ? await book.permitOf(movement) : undefined
  const orphan = { kind: 'orphan-payment' as const, txHash }
  if (nonce === undefined && permit === undefined) {
    return {
      ...orphan,
      level: 'warn',
      challengeId: null,
      message: `${from} sent ${amount} by a plain transfer that no receipt tells of`,
      fix: 'Nothing to do if it is your own money; otherwise ask the sender, and send it back by hand.',
    }
  }
  const key = permit ?? authorizationKey(network, from, nonce!)
  const receipt = index.receipts.get(key)
  if (receipt) {
    seen.add(receipt)
    return about(receipt, 'receipt-differs', {
      message: `the receipt names transaction ${receipt.txHash}, and the chain has the payment in ${txHash}`,
      fix: 'A running server follows it automatically; see that one runs, and look again.',
    })
  }
  const challengeId = index.unsettled.get(key) ?? null
  return {
    ...orphan,
    level: 'error',
    challengeId,
    message:
      challengeId === null
        ? `${from} paid ${amount} by an authorization that the ledger does not know`
        : `${from} paid ${amount} for a challenge that has no receipt of it`,
    fix:
      challengeId === null
        ? 'Is another gateway paid by the same wallet, or was an old backup restored? Send it back by hand if nothing was delivered.'
        : 'A running server records it automatically; see that one runs, and look again.',
  }
}

function notOnChain(receipt: Receipt, token: Token, rpcName: string): Discrepancy {
  const { state } = receipt.account
  return about(receipt, 'payment-not-on-chain', {
    message: `the receipt of ${unitsToDollars(token, receipt.value)} names a transfer that the chain does not have (the challenge is ${state})`,
    fix:
      state === 'DELIVERED'
        ? `Revoke what was delivered if it matters, and see that ${rpcName} is a node of the right chain.`
        : `See that ${rpcName} is a node of the right chain. Refund nothing for it.`,
  })
}

function* unpaidDeliveries({ accounts }: LedgerIndex, token: Token): Generator<Discrepancy> {
  for (const account of accounts) {
    const { id, own, state, chargedUnits, receipts } = account
    // A metered call may have cost nothing.
    if (
      !own ||
      state !== 'DELIVERED' ||
      chargedUnits === '0' ||
      receipts.some(({ role, lost }) => role === 'pays' && !lost)
    )
      continue
    const lost = receipts.find((receipt) => receipt.lost)
    yield {
      kind: 'unpaid-delivery',
      level: 'error',
      challengeId: id,
      txHash: lost?.txHash ?? null,
      message: `delivered for ${askedWords(account, token)}, but ${lost ? 'the chain took the payment back' : 'no payment is recorded'}`,
      fix: 'Revoke what was delivered if it matters.',
    }
  }
}

function about(
  { account, txHash }: Receipt,
  kind: Discrepancy['kind'],
  { message, fix }: Pick<Discrepancy, 'message' | 'fix'>,
): Discrepancy {
  return { kind, level: 'error', challengeId: account.id, txHash, message, fix }
}
