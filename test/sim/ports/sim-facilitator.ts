import type { Facilitator, FacilitatorAnswer } from '../../../src/ports.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'
import { useOf } from '../chain/branch.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import { refusal } from '../chain/token.ts'
import type { Outside } from '../outside.ts'
import { PAY_TO } from '../world.ts'
import { type Host, never } from './faulty-call.ts'

const MOODS = [
  'honest',
  'late',
  'fails-after',
  'lies',
  'anothers-hash',
  'refuses',
  'refuses-and-sends',
  'hangs',
] as const
export type Mood = (typeof MOODS)[number]

const HANG_MS = 30_000

/** A facilitator that may do anything but sign for the buyer. */
export function createSimFacilitator(outside: Outside, chain: SimChain, host: Host): Facilitator {
  const { world } = outside
  const { dice, scheduler } = world
  const { facilitator } = world.weather
  const moods: readonly Mood[] = facilitator === 'moody' ? ['honest', 'honest', ...MOODS] : [facilitator]

  function send(auth: SignedAuthorization): void {
    chain.send([{ kind: 'authorized', auth }])
  }

  function honest(auth: SignedAuthorization): FacilitatorAnswer {
    const { from: payer, nonce } = auth
    const head = chain.head()
    const reason = refusal(chain.token, head, head.block.timestamp, auth)
    // It has seen this one before: its answer is that of the first time.
    if (reason === 'authorization_used')
      return { kind: 'hint', txHash: useOf(head, { payer, nonce })!.mined.tx.hash }
    if (reason !== undefined) return { kind: 'refused', reason }
    send(auth)
    return { kind: 'hint' }
  }

  function act(auth: SignedAuthorization, mood: Mood): { answer: FacilitatorAnswer; afterMs?: number } {
    const later = dice.skewed(500, 180_000)
    const unknown = { kind: 'unknown', reason: 'HTTP 500' } as const
    switch (mood) {
      case 'honest':
        return { answer: honest(auth) }
      case 'late':
        scheduler.after(later, () => send(auth), true)
        return { answer: { kind: 'hint' } }
      case 'fails-after':
        send(auth)
        return { answer: unknown }
      case 'lies':
        return { answer: { kind: 'hint', txHash: chain.newHash('11e5') } }
      case 'anothers-hash':
        return { answer: { kind: 'hint', txHash: chain.branch.mined[0]?.tx.hash } }
      case 'refuses':
        return { answer: { kind: 'refused', reason: 'not today' } }
      case 'refuses-and-sends':
        scheduler.after(dice.int(500, 60_000), () => send(auth), true)
        return { answer: { kind: 'refused', reason: 'not today' } }
      case 'hangs':
        if (dice.chance(0.5)) send(auth)
        return { answer: unknown, afterMs: HANG_MS }
    }
  }

  /** Refuses this payTo permanently, in words that may or may not prove that nothing was sent. */
  async function refuseRefund({ nonce }: SignedAuthorization): Promise<FacilitatorAnswer> {
    if (!world.calm) await scheduler.sleep(dice.skewed(10, 3_000))
    if (!host.alive) return never()
    world.count('refunds refused by the facilitator')
    outside.refusedRefunds.add(nonce)
    const reason = 'this payTo is not served'
    return dice.chance(0.5) ? { kind: 'refused', reason } : { kind: 'unknown', reason, declined: true }
  }

  return {
    settle(auth: SignedAuthorization) {
      if (!host.alive) return never()
      if (world.weather.refusesRefunds && auth.to !== PAY_TO) return refuseRefund(auth)
      if (world.calm) return Promise.resolve(honest(auth))
      return new Promise((resolve) => {
        scheduler.after(dice.skewed(10, 3_000), () => {
          if (!host.alive) return
          if (dice.chance(world.weather.crash)) return host.crash('before settle')
          const mood = world.calm ? 'honest' : dice.pick(moods)
          const { answer, afterMs = dice.skewed(10, 3_000) } = act(auth, mood)
          world.count(`facilitator ${mood}`)
          world.note(host.name, () => `facilitator ${mood} ${auth.from.slice(-3)}:${auth.nonce.slice(2, 8)}`)
          if (dice.chance(world.weather.crash)) return host.crash('after settle')
          scheduler.after(afterMs, () => {
            if (host.alive) resolve(answer)
          })
        })
      })
    },
  }
}
