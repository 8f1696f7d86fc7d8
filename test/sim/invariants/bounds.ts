import { checkBudgets } from './budgets.ts'
import { checkGas } from './gas.ts'
import type { Scene } from './scene.ts'

/** I10: gas, memory and calls to the chain are bounded by what was bought, and failed purchases leave nothing. */
export async function checkBounds(scene: Scene): Promise<void> {
  checkGas(scene)
  checkBudgets(scene)
  checkMemory(scene)
  await checkTraces(scene)
}

/**
 * At rest an engine waits only for its next pass of the jobs and, with several rails, for the next look at each, and with webhooks for their next pass:
 * watching a payment, holding a nonce, or waiting for a change would show as another sleep. That nothing else asks the
 * chain any more is checked while time passes.
 */
function checkMemory({ world, instances, chains }: Scene): void {
  const waits = (chains.length > 1 ? 1 + chains.length : 1) + (world.weather.webhooks ? 1 : 0)
  for (const instance of instances) {
    if (instance.asleep() > waits)
      world.violate('I10', `${instance.name} still waits for ${instance.asleep()} things`)
  }
}

/**
 * An unpaid purchase leaves no challenge and no request. If it was stored, it leaves exactly two log entries:
 * created, and its end.
 */
async function checkTraces(scene: Scene): Promise<void> {
  const { world, recorded, challenges, authorizations, receipts, forgiven } = scene
  const sent = new Set([...authorizations, ...receipts.values()].map(({ challengeId }) => challengeId))
  for (const { key } of challenges.values()) {
    if (!sent.has(key) && !forgiven.challenge(key))
      world.violate('I10', `${key} is still stored, and nothing was ever sent for it`)
  }
  for (const { key, challengeId } of await recorded.readAll('requests')) {
    if (!challenges.has(challengeId) && !forgiven.request(key) && !forgiven.challenge(challengeId))
      world.violate('I10', `request ${key} outlives its challenge`)
  }
  for (const challengeId of recorded.challengeIds) {
    if (challenges.has(challengeId) || forgiven.challenge(challengeId)) continue
    const events = (await recorded.store.audit(challengeId)).map(({ event }) => event).join(' ')
    world.count('unpaid endings logged')
    // An instance with a slow clock may store it again, and then it ends again.
    if (!/^created (expired|cancelled)( created (expired|cancelled))*$/.test(events))
      world.violate('I9', `${challengeId} was stored and forgotten; its log says: ${events}`)
  }
  for (const { key, phase, dueAt } of await recorded.readAll('authorizations')) {
    if (phase === 'RELEASED' && dueAt === null)
      world.violate('I10', `the released ${key.slice(-6)} is never swept`)
  }
}
