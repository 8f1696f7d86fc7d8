import type { Network, Token } from '../protocol/network.ts'
import { unitsToDollars } from '../rules/token-amount.ts'
import { refundNonceOf } from '../schemes/exact/refund-nonce.ts'
import { askedWords } from './asked.ts'
import type { Discrepancy } from './discrepancy.ts'
import { type Account, type LedgerIndex, placeKey, type Receipt, type Refund } from './ledger-index.ts'
import type { Movement, TokenBook } from './token-book.ts'

const SETTLED: ReadonlySet<Refund['phase']> = new Set(['DONE', 'VOID'])

export interface ComparedRefunds {
  found: Discrepancy[]
  /** Refunds due that are recent enough to be still on their way. */
  waiting: number
}

/** Compares the money that should be refunded with the money that was refunded. */
export async function compareRefunds(parts: {
  index: LedgerIndex
  book: Pick<TokenBook, 'nonceOf' | 'movementsIn'>
  network: Network
  /** Without those to the seller's own wallets that no recorded refund tells of. */
  outgoing: readonly Movement[]
  fromBlock: number
  nowMs: number
  /** The age at which a paid call is refunded that nobody answered. */
  refundMinAgeMs: number
  /** How long a refund that is due may take: finality, the interval of the job, a few tries. */
  graceMs: number
  /** What the seller calls the setting of this network's RPC. */
  rpcName: string
}): Promise<ComparedRefunds> {
  const { index, book, network, outgoing, fromBlock, nowMs, refundMinAgeMs, graceMs, rpcName } = parts
  const { token } = network
  const found: Discrepancy[] = []
  const used = new Set<string>()
  const refunds = index.accounts.flatMap((account) => account.refunds)

  const pays = (refund: Refund) => (one: Movement) => {
    return one.to === refund.recipient && one.value === refund.value && !used.has(placeKey(one))
  }
  const done = refunds.filter(({ phase }) => phase === 'DONE')
  const unpaid = new Map<Refund, Discrepancy>()
  const sentIn = groupBy(outgoing, ({ txHash }) => txHash)
  for (const refund of done) {
    const inRange = sentIn.get(refund.txHash ?? '')
    if (!inRange && refund.fromHeight < fromBlock) continue
    // Paid by a wallet that is no longer configured, so look at the transaction itself.
    const all = inRange ?? (refund.txHash === null ? undefined : await book.movementsIn(refund.txHash))
    const paid = all?.find(pays(refund))
    if (paid) used.add(placeKey(paid))
    else unpaid.set(refund, notPaid(refund, all !== undefined, token, rpcName))
  }

  /** The receipts of this payer, by the nonce with which each is refunded. */
  async function refundedReceipt(movement: Movement): Promise<Receipt | undefined> {
    const receipts = index.byPayer.get(movement.to)
    const nonce = receipts && (await book.nonceOf(movement))
    return receipts?.find(
      ({ key }) => nonce !== undefined && refundNonceOf(key, network.token.address) === nonce,
    )
  }
  const unexplained = outgoing.filter((one) => !used.has(placeKey(one)))
  const byHand: Movement[] = []
  const onItsWay = new Set<string>()
  const paidBack = new Set<string>()
  for (const movement of unexplained) {
    const receipt = await refundedReceipt(movement)
    if (!receipt) {
      byHand.push(movement)
      continue
    }
    const refund = receipt.account.refunds.find(({ key }) => key === receipt.key)
    // A reorganisation may have moved it into another transaction than the recorded one.
    if (refund && unpaid.delete(refund)) found.push(elsewhere(refund, movement))
    else if (refund?.phase === 'DONE') found.push(twice(refund, movement, token))
    else if (refund?.phase === 'BROADCAST' || refund?.phase === 'WAITING') onItsWay.add(refund.key)
    else {
      found.push(unrecorded(receipt, movement, token))
      paidBack.add(receipt.key)
    }
  }
  found.push(...unpaid.values())
  let waiting = 0
  const byHandTo = groupBy(byHand, ({ to }) => to)
  const isOld = ({ kind, paidAt, createdAt }: Account, refund?: Refund) => {
    // A plan goes back as soon as it cannot be delivered.
    const callMayBeRepeatedMs = kind === 'route' ? refundMinAgeMs : 0
    const dueAt = refund?.dueSince ?? (paidAt ?? createdAt) + callMayBeRepeatedMs
    return nowMs - dueAt > graceMs
  }
  for (const account of index.accounts) {
    const open = account.refunds.filter(({ key, phase }) => !SETTLED.has(phase) && !paidBack.has(key))
    for (const refund of open) {
      const mayPay = byHandTo.get(refund.recipient)?.find((one) => {
        return pays(refund)(one) && one.blockNumber > refund.fromHeight
      })
      // This transfer pays a refund that is due; only the others can be surplus.
      if (mayPay) used.add(placeKey(mayPay))
      if (refund.phase !== 'FAILED' && (!isOld(account, refund) || onItsWay.has(refund.key))) waiting += 1
      else found.push(owed(refund, mayPay, token))
    }
    const told = withoutRefund(account, token)
    if (told && isOld(account)) found.push(told)
    else if (told) waiting += 1
  }

  const doneTo = groupBy(done, ({ recipient }) => recipient)
  for (const movement of byHand) {
    const before = doneTo.get(movement.to)?.find((refund) => {
      return !unpaid.has(refund) && pays(refund)(movement) && movement.blockNumber >= refund.fromHeight
    })
    if (before) found.push(twice(before, movement, token))
  }
  return { found, waiting }
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

function notPaid(refund: Refund, exists: boolean, token: Token, rpcName: string): Discrepancy {
  const { recipient } = refund
  const amount = unitsToDollars(token, refund.value)
  const what = exists ? `pays no ${amount} to ${recipient}` : 'is not on the chain'
  return about(refund, 'refund-missing', {
    message: `the ledger says that ${amount} went back, but the transaction ${what}`,
    fix: `See that ${rpcName} is a node of the right chain; if it is, pay the buyer by hand.`,
  })
}

function elsewhere(refund: Refund, { txHash }: Movement): Discrepancy {
  return about({ ...refund, txHash }, 'refund-unrecorded', {
    message: `the ledger names transaction ${refund.txHash}, and the chain has the refund in ${txHash}`,
    fix: 'Nothing is owed. Note the right transaction in your own books.',
  })
}

function owed(refund: Refund, mayPay: Movement | undefined, token: Token): Discrepancy {
  const { account, value, recipient, phase, reason } = refund
  const why = reason === null ? '' : `: ${reason}`
  const state = phase === 'FAILED' ? `failed${why}` : `has not been paid for a long time${why}`
  const fix = mayPay
    ? `It looks as if ${mayPay.txHash} paid it: paystile refunds resolve ${account.id} --tx ${mayPay.txHash}`
    : phase === 'FAILED'
      ? `Fix the reason, then: paystile refunds retry ${account.id}`
      : 'See that the server runs and that REFUND_WALLET_PRIVATE_KEY is set; paystile doctor tells more.'
  return about(refund, 'refund-missing', {
    message: `the refund of ${unitsToDollars(token, value)} to ${recipient} ${state}`,
    fix,
  })
}

/** Payments that were neither delivered nor marked to be refunded. */
function withoutRefund(account: Account, token: Token): Discrepancy | undefined {
  const { id, own: isOwn, state, receipts, refunds } = account
  if (!isOwn) return undefined
  const own = refunds.filter(({ movesState }) => movesState)
  const stuck = state === 'PAID' || state === 'REFUND_PENDING' || state === 'REFUND_FAILED'
  const claims = state === 'REFUNDED' && !own.some(({ phase }) => phase === 'DONE')
  if (!claims && (!stuck || own.length > 0)) return undefined
  return {
    kind: 'refund-missing',
    level: 'error',
    challengeId: id,
    txHash: receipts[0]?.txHash ?? null,
    message: `${askedWords(account, token)} was paid, the challenge is ${state}, and no refund is recorded`,
    fix: 'A running server delivers or refunds it automatically; see that one runs, and look again.',
  }
}

function twice(refund: Refund, { txHash, value, to }: Movement, token: Token): Discrepancy {
  return about({ ...refund, txHash }, 'double-refund', {
    message: `${to} got ${unitsToDollars(token, value)} back twice: in ${refund.txHash}, as recorded, and in ${txHash}`,
    fix: 'Ask the buyer for it back, and look who sent the second one.',
  })
}

function unrecorded({ account }: Receipt, { txHash, value, to }: Movement, token: Token): Discrepancy {
  const { state } = account
  return {
    kind: 'refund-unrecorded',
    level: 'error',
    challengeId: account.id,
    txHash,
    message: `the chain has paid ${unitsToDollars(token, value)} back to ${to}, and the ledger says ${state}`,
    fix:
      state === 'REFUND_FAILED'
        ? `Let it be recorded: paystile refunds retry ${account.id}`
        : 'Was an old backup restored? Revoke what was delivered if it matters.',
  }
}

function about(
  { account, txHash }: Pick<Refund, 'account' | 'txHash'>,
  kind: Discrepancy['kind'],
  { message, fix }: Pick<Discrepancy, 'message' | 'fix'>,
): Discrepancy {
  return { kind, level: 'error', challengeId: account.id, txHash, message, fix }
}
