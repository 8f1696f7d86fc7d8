import { findNetwork } from '../protocol/networks.ts'
import { BuyerError } from './buyer-error.ts'
import { type AllowedNetworks, networkName, symbolOf, tokenText } from './buyer-networks.ts'
import { type Offer, type RawOffer, readOffers, type Unfit } from './read-offer.ts'
import type { BuyerAccount } from './sign-payment.ts'
import { type TokenBalance, tokenBalance } from './token-balance.ts'

/** The offer that will be paid. */
export interface Choice {
  offer: Offer
  /** Why this one; absent where the seller offers no other. */
  reason?: string
}

export interface ChooseContext {
  account: BuyerAccount
  allowed: AllowedNetworks
  fetch: typeof fetch
  /** In order of preference. */
  rpcUrlsOf(network: string): readonly string[]
}

const BALANCE_TIMEOUT_MS = 3_000
/** A seller may offer more ways to pay than anybody wants to read about. */
const MAX_REASONS = 12

/**
 * Chooses among the ways to pay. Only if several fit, the payer's balances are read, and the first network that holds
 * enough is taken; if none is known to, the first whose balance could not be read.
 */
export async function chooseOffer(
  raw: RawOffer,
  context: ChooseContext,
  limitMicro: bigint,
  signal?: AbortSignal,
): Promise<Choice> {
  const { fitting, unfit } = readOffers(raw, context.allowed, limitMicro)
  const [only] = fitting
  if (!only) throw refusal(unfit)
  if (raw.accepts.length === 1) return { offer: only }
  const others = unfit.map(({ why }) => why)
  if (fitting.length === 1) {
    return { offer: only, reason: `it is the only one of ${raw.accepts.length} that fits: ${listed(others)}` }
  }
  const choice = await chooseByBalance(fitting, context, signal)
  if ('offer' in choice) return choice
  const message = `none of ${raw.accepts.length} ways to pay fits: ${listed([...choice.poor, ...others])}. Nothing was signed${freeTokens(fitting)}`
  throw new BuyerError('INSUFFICIENT_FUNDS', message)
}

async function chooseByBalance(
  fitting: readonly Offer[],
  context: ChooseContext,
  signal: AbortSignal | undefined,
): Promise<Choice | { poor: string[] }> {
  const enough = new AbortController()
  const limits = [enough.signal, AbortSignal.timeout(BALANCE_TIMEOUT_MS), ...(signal ? [signal] : [])]
  const balanceOf = readBalances(context, AbortSignal.any(limits))
  // All are asked at once, and awaited in the order of preference.
  const asked = fitting.map((offer) => ({ offer, balance: balanceOf(offer) }))
  const poor: string[] = []
  let unknown: Choice | undefined
  try {
    for (const { offer, balance } of asked) {
      const found = await balance
      signal?.throwIfAborted()
      const name = networkName(offer.network.id)
      if (found.kind === 'unknown') {
        unknown ??= {
          offer,
          reason: `no balance is known to be enough, and that on ${name} is not known: ${found.why}`,
        }
        continue
      }
      const held = tokenText(found.units, offer.network)
      const symbol = symbolOf(offer.network)
      if (found.units >= offer.amountUnits) {
        const before = poor.length === 0 ? '' : `; ${listed(poor)}`
        return { offer, reason: `it holds enough, ${held} ${symbol}${before}` }
      }
      poor.push(`balance ${held} of ${tokenText(offer.amountUnits, offer.network)} ${symbol} on ${name}`)
    }
  } finally {
    enough.abort()
  }
  return unknown ?? { poor }
}

/** Asks for each token once, however often it is offered. */
function readBalances(
  { fetch: fetchOnce, account, rpcUrlsOf }: ChooseContext,
  signal: AbortSignal,
): (offer: Offer) => Promise<TokenBalance> {
  const asked = new Map<Offer['network'], Promise<TokenBalance>>()
  return ({ network }) => {
    const balance =
      asked.get(network) ?? tokenBalance(fetchOnce, network, account.address, rpcUrlsOf(network.id), signal)
    asked.set(network, balance)
    return balance
  }
}

function refusal(unfit: readonly Unfit[]): BuyerError {
  // A price above the limit is the most useful of several faults: the rest of that offer was right.
  const first = unfit.find(({ code }) => code === 'OVER_LIMIT') ?? unfit[0]!
  if (unfit.length === 1) return new BuyerError(first.code, first.message)
  const all = listed(unfit.map(({ why }) => why))
  const message = `none of ${unfit.length} ways to pay fits: ${all}. Nothing was signed`
  return new BuyerError(first.code, message)
}

/** The faucets of test networks on which the payer holds too little. */
function freeTokens(offers: readonly Offer[]): string {
  const faucets = offers.map(({ network }) => findNetwork(network.id)?.faucets?.token)
  const known = [...new Set(faucets.filter((url) => url !== undefined))]
  return known.length === 0 ? '' : `; test USDC is free at ${known.join(', ')}`
}

function listed(reasons: readonly string[]): string {
  const left = reasons.length - MAX_REASONS
  return [...reasons.slice(0, MAX_REASONS), ...(left > 0 ? [`${left} more`] : [])].join('; ')
}
