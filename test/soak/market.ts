import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from '../../src/protocol/hex.ts'
import type { PaymentRequired, PaymentRequirements } from '../../src/protocol/payment.ts'
import { type DevAccount, type DevChain, paymentPayload, signAuthorization } from '../../src/testing/index.ts'
import type { Dice } from '../sim/dice.ts'
import type { Deal, Hands } from './deal.ts'

/** What a buyer has around it. */
export interface Market {
  chain: DevChain
  hands: Hands
  dice: Dice
  /** The address of one of the instances, as a balancer chooses it. */
  pick(): string
  /** One whose clock is right. */
  pickSteady(): string
  /** Was the clock of the instance at this address right all the time since then? */
  wasSteady(origin: string, sinceMs: number): boolean
  isOver(): boolean
}

/** Makes a purchase up to the moment at which its payment would be sent. Undefined: no terms were to be had. */
export type Way = (market: Market, wallet: DevAccount, name: string) => Promise<Deal | undefined>

/** So long a payment may be used; after it, nothing that was given up can land any more. */
export const VALID_SECONDS = 120
const ASKED_TIMES = 20
const ANSWER_LIMIT_MS = 30_000

export const post = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** Asks one instance after the other until one makes an offer. Nothing is signed yet, so nothing can be lost. */
export async function askTerms<T>(
  market: Market,
  ask: (origin: string, signal: AbortSignal) => Promise<T | undefined>,
  pick = market.pick,
): Promise<T | undefined> {
  for (let time = 0; time < ASKED_TIMES && !market.isOver(); time++) {
    const terms = await ask(pick(), AbortSignal.timeout(ANSWER_LIMIT_MS)).catch(() => undefined)
    if (terms) return terms
    await sleep(250)
  }
  return undefined
}

export type Terms = Pick<PaymentRequired, 'challengeId' | 'accepts'>

/** The 402 of a request over HTTP. */
export function askHttpTerms(market: Market, path: string, init: RequestInit): Promise<Terms | undefined> {
  return askTerms(market, async (origin, signal) => {
    const response = await fetch(origin + path, { ...init, signal })
    const text = await response.text()
    return response.status === 402 ? (JSON.parse(text) as PaymentRequired) : undefined
  })
}

/** Signs these terms by EIP-3009, for as long as payments of the soak live. */
export async function signExact({ account }: DevAccount, accepted: PaymentRequirements): Promise<object> {
  const validBefore = String(Math.floor(Date.now() / 1000) + VALID_SECONDS)
  const signed = await signAuthorization({ account, requirements: accepted, overrides: { validBefore } })
  return paymentPayload({ accepted, ...signed })
}

/** What every purchase begins with. */
export function newDeal(
  wallet: DevAccount,
  parts: Pick<Deal, 'way' | 'priceMicro' | 'send'> & Partial<Pick<Deal, 'challengeId' | 'requestId'>>,
): Deal {
  return { ...parts, payer: wallet.address.toLowerCase() as Hex, began: Date.now(), sends: 0 }
}
