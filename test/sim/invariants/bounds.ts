import { checkBudgets } from './budgets.ts'
import { checkGas } from './gas.ts'
import type { Scene } from './scene.ts'

/** I10: gas, memory and questions are bounded by what was bought, and nothing is kept of what came to nothing. */
export async function checkBounds(scene: Scene): Promise<void> {
  checkGas(scene)
  checkBudgets(scene)
  checkMemory(scene)
  await checkTraces(scene)
}

/**
 * At rest an engine waits for its next pass of the jobs and for nothing else: who watched a payment, held a nonce, or
 * waited for a change, would wait by the clock. That nobody asks the chain any more either is seen while time passes.
 */
function checkMemory({ world, instances }: Scene): void {
  for (const instance of instances) {
    if (instance.asleep() > 1)
      world.violate('I10', `${instance.name} still waits for ${instance.asleep()} things`)
  }
}

/** What nobody paid for leaves no trace: no challenge, no request, no line in the log. */
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
  for (const { challengeId } of await recorded.store.log(0, Number.MAX_SAFE_INTEGER)) {
    if (!challenges.has(challengeId) && !forgiven.challenge(challengeId))
      world.violate('I10', `the log of ${challengeId} outlives it`)
  }
  for (const { key, phase, dueAt } of await recorded.readAll('authorizations')) {
    if (phase === 'RELEASED' && dueAt === null)
      world.violate('I10', `the released ${key.slice(-6)} is never swept`)
  }
}
