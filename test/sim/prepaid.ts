import type { Engine, PrepaidIntent, WalletProof } from '../../src/engine/outcome.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Outside } from './outside.ts'
import { type Host, never } from './ports/faulty-call.ts'
import type { PrepaidAttempt } from './ports/watch-credits.ts'
import { ROUTES } from './world.ts'

/** A prepaid call as buyers of a history make it: with a token, whose claims cannot be forged, or signed in. */
export interface WireCall {
  path: string
  idempotencyKey?: string | undefined
  embedded?: boolean
  token?: { sub: string; planId: string; jti: string; exp: number }
  proof?: WalletProof
}

export type PrepaidReply =
  | { kind: 'answered'; cached: boolean; body: unknown; remaining: number }
  | { kind: 'failed'; code: string }

/** As the transports do it: who spends, the call, and for embedded routes the seller's handler between the two. */
export async function servePrepaid(
  engine: Engine,
  outside: Outside,
  host: Host,
  now: () => number,
  call: WireCall,
): Promise<PrepaidReply> {
  const { world, credits } = outside
  const spender = await readSpender(engine, outside, now, call)
  if (spender instanceof GatewayError) return { kind: 'failed', code: spender.code }
  const { idempotencyKey, embedded, path } = call
  const attempt: PrepaidAttempt = { payer: spender.account, credits: ROUTES[0]!.credits, idempotencyKey }
  credits.begin(attempt)
  const outcome = await engine.spend({
    transport: 'http',
    routeId: 'weather',
    call: { method: 'GET', path, headers: {}, body: null },
    ...(embedded && { embedded }),
    spender,
    idempotencyKey,
  })
  if (outcome.kind === 'failed') return refuse(outcome.error.code)
  if (outcome.kind === 'prepaid') {
    if (outcome.failure !== undefined) return refuse('FAILED')
    credits.end(attempt, outcome.cached ? 'repeated' : 'answered')
    const { response, cached, debit } = outcome
    return { kind: 'answered', cached, body: response.resource.body, remaining: debit.remaining }
  }
  const { reservation } = outcome
  const fails = await handle()
  const finished = await engine.finishPrepaid(reservation, !fails)
  if (finished instanceof GatewayError) return refuse(finished.code)
  if (fails) return refuse('FAILED')
  credits.end(attempt, 'answered')
  return { kind: 'answered', cached: false, body: null, remaining: finished.remaining }

  function refuse(code: string): PrepaidReply {
    credits.end(attempt, 'refused')
    return { kind: 'failed', code }
  }

  async function handle(): Promise<boolean> {
    const { creditDice: dice, scheduler, weather } = world
    world.count('prepaid handlers')
    if (world.calm) return false
    for (let turn = dice.int(0, 2); turn > 0; turn--) {
      await scheduler.sleep(dice.int(1, weather.config.deliveryLeaseMs))
      if (!host.alive) return never()
      await engine.renewPrepaid(reservation).catch(() => false)
    }
    await scheduler.sleep(dice.skewed(10, 40_000))
    if (!host.alive) return never()
    return dice.chance(weather.deliveryFails)
  }
}

async function readSpender(
  engine: Engine,
  { credits, world }: Outside,
  now: () => number,
  { token, proof }: WireCall,
): Promise<PrepaidIntent['spender'] | GatewayError> {
  if (token) {
    if (now() >= token.exp) return new GatewayError('UNAUTHORIZED', 'expired')
    return { account: token.sub, planId: token.planId, resourceId: 'default', purchase: token.jti }
  }
  if (!proof || now() >= proof.endsAt) return new GatewayError('UNAUTHORIZED', 'too old')
  const wallet = await engine.signIn(proof)
  if (wallet instanceof GatewayError) return wallet
  const times = (credits.signIns.get(proof.nonce) ?? 0) + 1
  credits.signIns.set(proof.nonce, times)
  if (times > 1 && world.weather.losses === 0)
    world.violate('I20', `the sign-in ${proof.nonce} was accepted ${times} times`)
  world.count('sign-ins')
  return { account: wallet.account, network: wallet.network, resourceId: 'default' }
}
