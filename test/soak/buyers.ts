import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from '../../src/protocol/hex.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount, DevChain } from '../../src/testing/index.ts'
import { type Deal, hear, type Said } from './deal.ts'
import type { Market, Way } from './market.ts'
import { planByA2a, planByTransfer } from './ways/a2a.ts'
import { creditPlan, spendCredits } from './ways/credits.ts'
import { planByMcp, routeByMcp } from './ways/mcp.ts'
import { meteredCall } from './ways/metered.ts'
import { planByMpp, routeByMpp } from './ways/mpp.ts'
import { meteredBySdk, planBySdk } from './ways/sdk.ts'
import { planByHttp, routeByAccess, routeByHttp } from './ways/x402.ts'

/** Every dialect and every scheme, and how often each is chosen. */
const WAYS: Readonly<Record<string, [way: Way, weight: number]>> = {
  'http plan': [planByHttp, 2],
  'http route': [routeByHttp, 2],
  'http access route': [routeByAccess, 1],
  'a2a plan': [planByA2a, 1],
  'a2a transfer': [planByTransfer, 1],
  'mcp plan': [planByMcp, 1],
  'mcp route': [routeByMcp, 1],
  'mpp plan': [planByMpp, 1],
  'mpp route': [routeByMpp, 1],
  metered: [meteredCall, 2],
  'sdk plan': [planBySdk, 1],
  'sdk metered': [meteredBySdk, 1],
  'credits plan': [creditPlan, 1],
}
export const WAY_NAMES = Object.keys(WAYS)
const DRAWN = Object.values(WAYS).flatMap(([way, weight]) => Array.from({ length: weight }, () => way))

const WALLET_MICRO = 10_000_000_000n
const PATIENCE_MS = 45_000
const ANSWER_LIMIT_MS = 30_000

/** Wallets with money, ETH for transfers of their own, and the approval that metered calls need. */
export async function openWallets(chain: DevChain, count: number): Promise<DevAccount[]> {
  const wallets: DevAccount[] = []
  for (let index = 0; index < count; index++) {
    const wallet = await chain.newBuyer({ micro: WALLET_MICRO })
    await approvePermit2(chain, wallet)
    wallets.push(wallet)
  }
  return wallets
}

/** Sends the payment of a purchase and takes down what was said. */
export async function sendDeal(
  market: Pick<Market, 'hands' | 'pick'>,
  deal: Deal,
  limitMs = ANSWER_LIMIT_MS,
) {
  deal.sends++
  const said: Said = await deal
    .send(market.pick(), AbortSignal.timeout(limitMs))
    .catch((error: unknown) => ({ kind: 'pending', text: String(error) }))
  hear(market.hands, deal, said)
  return said
}

/** Sends until there is a decision, or until the buyer has had enough and comes back at the end. */
async function insist(market: Market, deal: Deal): Promise<void> {
  const { dice } = market
  const until = Date.now() + PATIENCE_MS
  for (let failures = 0; deal.end === undefined && Date.now() < until && !market.isOver(); ) {
    const said = await sendDeal(market, deal)
    if (said.kind === 'odd') return
    if (said.kind === 'call-failed' && ++failures > dice.int(0, 2)) return
    if (deal.end === undefined) await sleep(dice.int(300, 1_500))
  }
}

/** How buyers behave: most wait for the answer; some ask twice at once, lose it, or go away. */
async function pay(market: Market, deal: Deal): Promise<void> {
  const { dice } = market
  const manner = dice.next()
  if (manner < 0.08) return void (await sendDeal(market, deal, dice.int(50, 1_500)))
  if (manner < 0.25) {
    const copies = dice.int(2, 3)
    await Promise.all(Array.from({ length: copies }, () => sendDeal(market, deal)))
  } else if (manner < 0.4) await sendDeal(market, deal, dice.int(20, 800))
  await insist(market, deal)
  if (deal.end === 'delivered' && dice.chance(0.1)) await sendDeal(market, deal)
}

/** One buyer, until the market closes. */
export async function trade(market: Market, wallet: DevAccount, buyer: string): Promise<void> {
  const { dice, hands } = market
  for (let number = 1; !market.isOver(); number++) {
    const name = `${buyer}-${number}`
    const way = dice.pick(DRAWN)
    const deal = await way(market, wallet, name).catch((error: unknown) => {
      hands.complaints.push(`${name} could not begin a purchase: ${error}`)
      return undefined
    })
    if (!deal) continue
    hands.deals.push(deal)
    await pay(market, deal)
    if (way === creditPlan && deal.got) {
      const payer = wallet.address.toLowerCase() as Hex
      const account = hands.accounts.get(payer) ?? { wallet, token: '', served: new Map(), open: new Map() }
      account.token = deal.got.result
      hands.accounts.set(payer, account)
      await spendCredits(market, wallet, name)
    }
    await sleep(dice.int(0, 400))
  }
}
