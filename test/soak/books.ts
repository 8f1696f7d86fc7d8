import type { LedgerEntry } from '../../src/server/admin/read-ledger.ts'
import { compareCredits } from './credit-book.ts'
import type { Deal } from './deal.ts'
import { compareEvents } from './event-book.ts'
import { type Evidence, type Movement, openWork } from './evidence.ts'

/** Everything in which chain, ledger, buyers, webhooks and credits disagree. Empty: they agree to the unit. */
export function compareBooks(evidence: Evidence): string[] {
  return [
    ...evidence.hands.complaints,
    ...openWork(evidence.ledger),
    ...compareChain(evidence),
    ...compareDeals(evidence),
    ...compareWallets(evidence),
    ...compareEvents(evidence),
    ...compareCredits(evidence),
  ]
}

/** The chain and the ledger: each transfer is one receipt or one refund, and the other way round. */
function compareChain({ chain, ledger, seller }: Evidence): string[] {
  const found: string[] = []
  const left = new Set(chain)
  const byTx = new Map<string, Movement[]>()
  for (const one of chain) byTx.set(one.txHash, [...(byTx.get(one.txHash) ?? []), one])
  const take = (txHash: string, fits: (one: Movement) => boolean, what: string) => {
    const one = byTx.get(txHash)?.find((each) => left.has(each) && fits(each))
    if (one) left.delete(one)
    else found.push(`${what} is not on the chain`)
  }
  for (const { challenge, receipts, refunds } of ledger) {
    for (const { txHash, logIndex, payer, value, lost } of receipts)
      if (!lost)
        take(
          txHash,
          (one) => one.logIndex === logIndex && one.from === payer && one.value === BigInt(value),
          `the receipt of ${challenge.key} over ${value} from ${payer} in ${txHash}`,
        )
    for (const { phase, txHash, recipient, value } of refunds)
      if (phase === 'DONE')
        take(
          txHash ?? '',
          (one) => one.from === seller && one.to === recipient && one.value === BigInt(value),
          `the refund of ${challenge.key} over ${value} to ${recipient} in ${txHash}`,
        )
  }
  for (const { from, to, value, txHash } of left)
    found.push(`the chain moved ${value} from ${from} to ${to} in ${txHash}, and the ledger does not know it`)
  return found
}

const kept = ({ receipts, refunds }: LedgerEntry): bigint => {
  const sum = (rows: ReadonlyArray<{ value: string }>) =>
    rows.reduce((total, { value }) => total + BigInt(value), 0n)
  return sum(receipts.filter(({ lost }) => !lost)) - sum(refunds.filter(({ phase }) => phase === 'DONE'))
}

/** The ledger and what buyers hold: delivered and charged once, or nothing was kept. */
function compareDeals({ ledger, hands, charges }: Evidence): string[] {
  const found: string[] = []
  const byId = new Map(ledger.map((entry) => [entry.challenge.key, entry]))
  const byRequest = new Map(ledger.map((entry) => [entry.challenge.requestId, entry]))
  const entryOf = ({ challengeId, requestId }: Deal) =>
    (challengeId === undefined ? undefined : byId.get(challengeId)) ??
    (requestId === undefined ? undefined : byRequest.get(requestId))
  const owned = new Set<LedgerEntry>()
  const results = new Map<string, Deal>()
  for (const deal of hands.deals) {
    const who = `${deal.way} ${deal.challengeId ?? deal.requestId} of ${deal.payer}`
    const entry = entryOf(deal)
    const expect = (holds: boolean, otherwise: string) => void (holds || found.push(`${who} ${otherwise}`))
    if (entry) {
      expect(!owned.has(entry), 'shares its challenge with another purchase')
      owned.add(entry)
    }
    const state = entry?.challenge.state
    const keptMicro = entry ? kept(entry) : 0n
    if (deal.got) {
      const { result, txHash, chargedMicro } = deal.got
      expect(state === 'DELIVERED', `has its result, and the ledger says ${state}`)
      expect(keptMicro === chargedMicro, `was told a charge of ${chargedMicro}, and ${keptMicro} was kept`)
      expect(chargedMicro <= deal.priceMicro, `signed ${deal.priceMicro} and was charged ${chargedMicro}`)
      const recorded = entry?.challenge.txHash ?? ''
      expect(recorded === txHash, `was told transaction ${txHash}, and the ledger says ${recorded}`)
      expect(!results.has(result), `has the same result as ${results.get(result)?.challengeId}`)
      results.set(result, deal)
      if (deal.way.includes('metered')) {
        const named = charges.get(entry?.challenge.key ?? '') ?? []
        expect(named.includes(chargedMicro), `was charged ${chargedMicro}, and the backend named ${named}`)
      }
    } else {
      expect(
        deal.end !== undefined,
        `never got a decision; it last heard ${JSON.stringify(deal.heard)}, and the ledger says ${state ?? 'nothing'}`,
      )
      expect(state !== 'DELIVERED', `has no result (${deal.end}), and the ledger says DELIVERED`)
      expect(keptMicro === 0n, `has no result (${deal.end}), and ${keptMicro} was kept`)
      expect(deal.end !== 'refunded' || state === 'REFUNDED', `was told of a refund, and is ${state}`)
    }
  }
  for (const entry of ledger)
    if (!owned.has(entry) && kept(entry) !== 0n)
      found.push(`the ledger keeps ${kept(entry)} for ${entry.challenge.key}, which no buyer knows`)
  return found
}

/** The chain and the buyers, without the ledger: each wallet is poorer by exactly what it holds results for. */
function compareWallets({ hands, spent, chain, seller }: Evidence): string[] {
  const found: string[] = []
  const net = new Map<string, bigint>()
  const add = (wallet: string, value: bigint) => net.set(wallet, (net.get(wallet) ?? 0n) + value)
  for (const { from, to, value } of chain) {
    if (to === seller) add(from, value)
    else add(to, -value)
  }
  for (const [wallet, lost] of spent) {
    const own = hands.deals.filter(({ payer }) => payer === wallet)
    const worth = own.reduce((sum, { got }) => sum + (got?.chargedMicro ?? 0n), 0n)
    if (lost !== worth) found.push(`${wallet} is poorer by ${lost} and holds results for ${worth}`)
    const moved = net.get(wallet) ?? 0n
    if (moved !== worth) found.push(`${wallet} paid ${moved} net and holds results for ${worth}`)
  }
  return found
}
