import { useOf } from '../chain/branch.ts'
import { UNLIMITED } from '../chain/permit2.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import type { Code } from '../chain/token.ts'
import type { Dice } from '../dice.ts'
import { sellsMetered } from '../weather.ts'
import { address, METERED_MAX, PLANS, type World } from '../world.ts'
import { payForAnotherChain, payOnceItIsDown, payOnEveryChain } from './chains.ts'
import { buyForgetfully, buyHonestly, buyInParallel, signTwice } from './honest.ts'
import {
  broadcastItself,
  buyManyAtOnce,
  cancelMeanwhile,
  cancelOrder,
  drainMeanwhile,
  payLate,
  payOnceForTwo,
  tamper,
} from './hostile.ts'
import {
  callAgain,
  callMeteredAtOnce,
  dropAllowance,
  dropWhileMany,
  emptyWallet,
  invalidateNonce,
  meterHonestly,
  readUnpaid,
  replayManyTimes,
  showSettlements,
  stealMetered,
  tamperPermit,
} from './metered.ts'
import { buyByMpp, payInBothDialects, repeatInX402, tamperCredential } from './mpp.ts'
import { buyCall, buyEmbedded, callAnother, callManyAtOnce } from './routes.ts'
import type { Buyer, Shop } from './shop.ts'
import { type Loot, spendCredits, stealCredits } from './spenders.ts'
import { answerStrangersChallenge, authorizationsIn, frontRun, intrude, type Public, steal } from './thief.ts'
import { claimStrangersTransfer, payByTransfer, proveForTwo, proveLate } from './transfers.ts'

interface Role {
  kind: string
  honest: boolean
  code?: Code
  /** It pays by MPP wherever it can; undefined: as the weather says. */
  speaksMpp?: boolean
  act(shop: Shop, buyer: Buyer): Promise<void>
}

function rolesFor(known: Public, severalChains: boolean): Role[] {
  const honest = { kind: 'honest', honest: true, act: buyHonestly }
  return [
    honest,
    honest,
    honest,
    { kind: 'parallel', honest: true, act: buyInParallel },
    { kind: 'forgetful', honest: true, act: buyForgetfully },
    { kind: 'twice', honest: true, act: signTwice },
    { kind: 'flipping', honest: true, code: 'flips', act: buyHonestly },
    { kind: 'burning', honest: true, code: 'burns', act: buyHonestly },
    { kind: 'turning', honest: true, code: 'turns', act: buyHonestly },
    { kind: 'calls', honest: true, act: buyCall },
    { kind: 'calls', honest: true, act: buyCall },
    // Its answer is not kept: who loses it on the way has paid for it all the same.
    { kind: 'embedded', honest: false, act: buyEmbedded },
    { kind: 'embedded', honest: false, act: buyEmbedded },
    { kind: 'other-call', honest: false, act: callAnother },
    { kind: 'transfers', honest: false, act: payByTransfer },
    { kind: 'one-proof', honest: false, act: proveForTwo },
    { kind: 'claims', honest: false, act: claimStrangersTransfer },
    { kind: 'cancels', honest: false, act: cancelMeanwhile },
    { kind: 'drains', honest: false, act: drainMeanwhile },
    { kind: 'self-sent', honest: false, act: broadcastItself },
    { kind: 'calls-off', honest: false, act: cancelOrder },
    { kind: 'calls-off', honest: false, act: cancelOrder },
    { kind: 'one-for-two', honest: false, act: payOnceForTwo },
    { kind: 'late', honest: true, act: payLate },
    { kind: 'tampers', honest: false, act: tamper },
    { kind: 'wastes', honest: false, code: 'burns', act: buyManyAtOnce },
    { kind: 'farms', honest: false, act: callManyAtOnce },
    { kind: 'thief', honest: false, act: steal(known) },
    { kind: 'intruder', honest: false, act: intrude(known) },
    // Only where there are several chains.
    ...(severalChains
      ? [
          { kind: 'everywhere', honest: true, act: payOnEveryChain },
          { kind: 'other-chain', honest: false, act: payForAnotherChain },
          { kind: 'when-down', honest: true, act: payOnceItIsDown },
        ]
      : []),
  ]
}

/** Drawn beside the others. */
function mppRoles(known: Public): Role[] {
  const mpp = { honest: true, speaksMpp: true }
  return [
    { ...mpp, kind: 'mpp', act: buyByMpp },
    { ...mpp, kind: 'mpp', act: buyByMpp },
    { ...mpp, kind: 'both-ways', act: payInBothDialects },
    { ...mpp, kind: 'repeats', act: repeatInX402 },
    { ...mpp, kind: 'tampers-mpp', honest: false, act: tamperCredential },
    { ...mpp, kind: 'thief', honest: false, act: steal(known) },
    { ...mpp, kind: 'id-thief', honest: false, act: answerStrangersChallenge(known) },
    { ...mpp, kind: 'front-runs', honest: false, act: frontRun },
  ]
}

/** Drawn beside the others, where there are credits. */
function creditRoles(): Role[] {
  const loot: Loot = { purchases: [], proofs: [] }
  // Some buy a second plan, which honest buyers of this simulator never do.
  const spender = { kind: 'spends', honest: false, speaksMpp: false, act: spendCredits(loot) }
  return [
    spender,
    spender,
    spender,
    { kind: 'credit-thief', honest: false, speaksMpp: false, act: stealCredits(loot) },
  ]
}

/** Drawn beside the others, where metered calls are sold. */
function meterRoles(): Role[] {
  const meters = { honest: true, speaksMpp: false }
  const meddles = { honest: false, speaksMpp: false }
  return [
    { ...meters, kind: 'meters', act: meterHonestly },
    { ...meters, kind: 'meters', act: meterHonestly },
    { ...meters, kind: 'replays', act: replayManyTimes },
    { ...meddles, kind: 'meters-many', act: callMeteredAtOnce },
    { ...meddles, kind: 'streams', act: callAgain },
    { ...meddles, kind: 'drops', act: dropAllowance },
    { ...meddles, kind: 'empties', act: emptyWallet },
    { ...meddles, kind: 'invalidates', act: invalidateNonce },
    { ...meddles, kind: 'meter-thief', act: stealMetered },
    { ...meddles, kind: 'tampers-permit', act: tamperPermit },
    { ...meddles, kind: 'shows-settled', act: showSettlements },
  ]
}

/** Who comes only where a storm's cast names it. */
const INVITED: readonly Role[] = [
  { honest: false, speaksMpp: false, kind: 'reads-unpaid', act: readUnpaid },
  { honest: false, speaksMpp: false, kind: 'drops-many', act: dropWhileMany },
  { honest: false, speaksMpp: false, kind: 'proves-late', act: proveLate },
]

/** Those whose acts are about the fields of x402, or who pay by A2A, where MPP is not spoken. */
const X402_ONLY = ['tampers', 'one-for-two', 'other-chain', 'thief', 'transfers', 'one-proof', 'claims']

const RUSHING = ['honest', 'parallel', 'twice', 'turning', 'drains', 'cancels', 'self-sent']

export interface Crowd {
  buyers: Buyer[]
  codes: Map<Buyer['address'], Code>
  tokens: Map<Buyer['address'], bigint>
  /** For Permit2. */
  allowances: Map<Buyer['address'], bigint>
  /** Sends everybody shopping, each at its own time. */
  begin(shop: Shop): void
}

export function drawCrowd(world: World): Crowd {
  const { dice, mppDice, creditDice, meterDice, scheduler, weather } = world
  const buyers: Buyer[] = []
  const acts = new Map<Buyer, Role['act']>()
  const diceOf = new Map<Buyer, Dice>()
  const codes: Crowd['codes'] = new Map()
  const tokens: Crowd['tokens'] = new Map()
  const allowances: Crowd['allowances'] = new Map()
  let shop: Shop | undefined
  const known = publicKnowledge(() => shop!, buyers)
  const all = rolesFor(known, weather.chains > 1)
  const later = mppRoles(known)
  const spenders = creditRoles()
  const metered = meterRoles()
  const cast = weather.cast ?? (weather.rush ? RUSHING : undefined)
  const roles = cast
    ? [...all, ...later, ...spenders, ...metered, ...INVITED].filter(({ kind }) => cast.includes(kind))
    : all
  const teamPlan = dice.pick(PLANS).planId
  function add(role: Role, own: Dice): void {
    const index = buyers.length + 1
    const buyer: Buyer = {
      name: `b${index}-${role.kind}`,
      address: address('buyer', index),
      kind: role.kind,
      honest: role.honest,
      speaksMpp: role.speaksMpp ?? (!X402_ONLY.includes(role.kind) && mppDice.chance(weather.mpp)),
      planId: weather.team ? teamPlan : own.pick(PLANS).planId,
      requestId: weather.team ? 'team-order' : own.chance(0.6) ? `order-${index}` : undefined,
      payments: [],
      proofs: [],
      grants: [],
      refusals: [],
      heard: [],
      done: false,
    }
    buyers.push(buyer)
    acts.set(buyer, role.act)
    diceOf.set(buyer, own)
    if (role.code) codes.set(buyer.address, role.code)
    tokens.set(buyer.address, own.chance(0.1) ? 0n : 20_000_000n)
    allowances.set(buyer.address, drawAllowance(meterDice, role))
    world.count(`buyers ${role.kind}`)
  }

  for (let turn = 0; turn < weather.buyers; turn++) {
    const drawn = dice.pick(roles)
    const byMpp = !weather.cast && mppDice.chance(weather.mpp / 3) ? mppDice.pick(later) : drawn
    const spends = !weather.cast && creditDice.chance(weather.credits)
    add(spends ? creditDice.pick(spenders) : byMpp, dice)
  }
  // Those of metered calls come beside the others, which are as many as without them.
  for (let turn = 0; turn < weather.buyers; turn++) {
    const meters = !weather.cast && sellsMetered(weather) && meterDice.chance(weather.metered)
    if (meters) add(meterDice.pick(metered), meterDice)
  }
  // Bursts make batches; a lull lets one purchase end before the next begins.
  const spreadMs = weather.rush ? 0 : dice.pick([0, 1_000, weather.horizonMs / 3])
  return {
    buyers,
    codes,
    tokens,
    allowances,
    begin(opened) {
      shop = opened
      for (const buyer of buyers) {
        scheduler.after(diceOf.get(buyer)!.int(0, Math.round(spreadMs)), () => {
          void acts.get(buyer)!(opened, buyer).then(() => {
            buyer.done = true
          })
        })
      }
    },
  }
}

/** Most approve without a limit; who makes many calls at once has approved a few. */
function drawAllowance(dice: Dice, { kind }: Role): bigint {
  if (kind === 'reads-unpaid') return UNLIMITED
  if (kind === 'meters-many') return METERED_MAX * BigInt(dice.int(1, 3)) + BigInt(dice.int(0, 1_000_000))
  return dice.pick([UNLIMITED, UNLIMITED, UNLIMITED, 20_000_000n, METERED_MAX, 0n])
}

function publicKnowledge(shop: () => Shop, buyers: readonly Buyer[]): Public {
  const own = () => new Set(buyers.map((buyer) => buyer.address))

  /** Who publishes an unused authorization gives it away; only once it is final is it nobody's any more. */
  function publishedOn(chain: SimChain) {
    const selfSent = new Set(
      buyers.flatMap(({ kind, address: from }) => (kind === 'self-sent' ? [from] : [])),
    )
    const ours = own()
    const seen = authorizationsIn([...chain.branch.mined.map(({ tx }) => tx), ...chain.pool.values()])
    return seen.filter(({ from, nonce }) => {
      const isFinal = useOf(chain.final(), { payer: from, nonce }) !== undefined
      return ours.has(from) && (!selfSent.has(from) || isFinal)
    })
  }

  return {
    authorizations: () => shop().chains.flatMap(publishedOn),
    ids() {
      return buyers.flatMap(({ payments, address: payer }) =>
        payments.flatMap(({ payment }) => {
          const { requestId, challengeId, planId } = payment.accepted?.extra ?? {}
          return requestId && challengeId && planId ? [{ requestId, challengeId, planId, payer }] : []
        }),
      )
    },
    challenges() {
      return buyers.flatMap(({ payments, name: owner }) =>
        payments.flatMap(({ payment: { credential, accepted } }) => {
          const planId = accepted?.extra?.planId
          return credential && accepted && planId
            ? [{ challenge: credential.challenge, accepted, planId, owner }]
            : []
        }),
      )
    },
  }
}
