import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from '../../../src/protocol/hex.ts'
import type { DevAccount } from '../../../src/testing/index.ts'
import { offeredIn, proofHeader, SIGN_IN } from '../../e2e/sign-in-client.ts'
import type { Hands, Prepaid } from '../deal.ts'
import { type Market, post, type Way } from '../market.ts'
import { cityFor, payByHeader } from './x402.ts'

/** The plan whose token pays for calls. */
export const creditPlan: Way = (market, wallet, name) => {
  const init = post({ planId: 'calls', requestId: name })
  return payByHeader(market, wallet, { way: 'credits plan', path: '/x402/access', init, requestId: name })
}

interface PrepaidCall {
  key: string
  path: string
  signal: AbortSignal
  /** The wallet itself spends, without the token. */
  signsIn?: boolean
}

async function credentialOf(
  { token, wallet }: Prepaid,
  url: string,
  signsIn: boolean,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (!signsIn) return { authorization: `Bearer ${token}` }
  const unpaid = await fetch(url, { signal })
  return { [SIGN_IN]: await proofHeader(offeredIn(await unpaid.json()), wallet) }
}

type Spent = 'served' | 'failed' | 'exhausted' | 'unknown'

/** One prepaid call under its name; debited once, however often it is sent. */
export async function callPrepaid(
  { complaints }: Hands,
  account: Prepaid,
  origin: string,
  { key, path, signal, signsIn = false }: PrepaidCall,
): Promise<Spent> {
  const answer = await credentialOf(account, origin + path, signsIn, signal)
    .then((own) => fetch(origin + path, { headers: { ...own, 'idempotency-key': key }, signal }))
    .then(async (response) => ({ response, text: await response.text() }))
    .catch(() => undefined)
  if (!answer) return 'unknown'
  const { response, text } = answer
  const { resource, code } = parse(text)
  if (response.status === 200 && resource) {
    if (resource.status !== 200) return 'failed'
    const result = JSON.stringify(resource.body)
    const before = account.served.get(key)
    if (before !== undefined && before !== result)
      complaints.push(`prepaid call ${key} got two answers: ${before} and ${result}`)
    account.served.set(key, result)
    account.open.delete(key)
    return 'served'
  }
  if (code === 'CREDITS_EXHAUSTED') return 'exhausted'
  // A proof is good once and for a short time, and an instance's clock may be wrong: the next one is another.
  if (signsIn && response.status === 401) return 'unknown'
  if (![408, 409, 425, 429, 500, 502, 503, 504].includes(response.status))
    complaints.push(`prepaid call ${key} was told ${response.status} ${text.slice(0, 300)}`)
  return 'unknown'
}

/** Calls one after the other, some twice at once and some with a lost answer, until the credits of one plan are used up. */
export async function spendCredits(market: Market, wallet: DevAccount, name: string): Promise<void> {
  const { dice, hands, pick } = market
  const account = hands.accounts.get(wallet.address.toLowerCase() as Hex)
  if (!account) return
  const calls = dice.int(8, 16)
  for (let index = 0; index < calls && !market.isOver(); index++) {
    const key = `${name}-${index}`
    const path = `/weather/${cityFor(market, key)}`
    account.open.set(key, path)
    const signsIn = dice.chance(0.2)
    const patient = () => ({ key, path, signsIn, signal: AbortSignal.timeout(20_000) })
    if (dice.chance(0.15))
      await callPrepaid(hands, account, pick(), { key, path, signal: AbortSignal.timeout(dice.int(5, 200)) })
    for (let time = 0; time < 6; time++) {
      const copies = dice.chance(0.15) ? 2 : 1
      const said = await Promise.all(
        Array.from({ length: copies }, () => callPrepaid(hands, account, pick(), patient())),
      )
      if (said.includes('served') || said.includes('exhausted')) break
      if (said.includes('failed') && time > 1) break
      await sleep(dice.int(100, 800))
    }
    await sleep(dice.int(0, 150))
  }
}

/** Every call that was not decided, once more until it is. */
export async function settleCalls(hands: Hands, pick: () => string, untilMs: number): Promise<void> {
  for (const account of hands.accounts.values()) {
    for (const [key, path] of account.open) {
      while (Date.now() < untilMs) {
        const said = await callPrepaid(hands, account, pick(), {
          ...{ key, path },
          signal: AbortSignal.timeout(20_000),
        })
        if (said === 'unknown') await sleep(500)
        else break
      }
    }
  }
}

function parse(text: string): { resource?: { status: number; body: unknown }; code?: string } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
