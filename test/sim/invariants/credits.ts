import type { CallRow, CreditRow } from '../../../src/ports.ts'
import { creditsFor } from '../world.ts'
import type { Scene } from './scene.ts'

/** I19: what is spent is what was answered, to the credit; who knows nothing of a call may have been debited for it. */
export async function checkCredits(scene: Scene): Promise<void> {
  const { world, recorded, receipts, challenges } = scene
  const rows = await recorded.readAll('credits')
  for (const row of rows) checkRow(scene, row)
  // A store that lost commits may have lost debits with them.
  if (world.weather.losses > 0) return
  const calls = await recorded.readAll('calls')
  for (const { challengeId, role, lost } of receipts.values()) {
    const [row] = rows.filter(({ key }) => key === challengeId)
    if (!row || role !== 'pays' || !lost) continue
    world.count('credits lost')
    if (challenges.get(challengeId)?.state !== 'DELIVERED' && row.ended !== 'lost' && row.ended !== 'closed')
      world.violate('I19', `the payment of ${challengeId} is lost, and its credits go on`)
  }
  const payers = new Set(rows.map(({ ref }) => payerOf(ref)))
  for (const payer of payers) {
    const own = <R extends { ref: string | null }>(all: R[]) =>
      all.filter(({ ref }) => payerOf(ref) === payer)
    checkAccount(scene, payer, own(rows), own(calls))
  }
}

const payerOf = (ref: string | null): string => ref!.split('/')[0]!

function checkRow({ world, challenges }: Scene, { key, granted, spent, reserved }: CreditRow): void {
  const sale = challenges.get(key)
  const offered = sale && creditsFor(sale.itemId, sale.amount)
  // Of an offer that a store lost nobody knows what it granted.
  if (sale && granted !== offered && world.weather.losses === 0)
    world.violate('I19', `${key} granted ${granted} credits for ${sale.amount}, and ${offered} were offered`)
  if (spent < 0 || spent > granted) world.violate('I19', `of ${granted} credits of ${key} ${spent} are spent`)
  if (reserved.some(({ lapsed }) => !lapsed)) world.violate('I19', `${key} keeps credits reserved at rest`)
}

function checkAccount(scene: Scene, payer: string, rows: CreditRow[], calls: CallRow[]): void {
  const { world, recorded } = scene
  const spent = rows.reduce((sum, row) => sum + row.spent, 0)
  const named = calls.reduce((sum, { done, credits }) => (done ? sum + credits : sum), 0)
  let answered = 0
  let unknown = 0
  const answers = new Map<string, number>()
  for (const [attempt, end] of recorded.credits.attempts) {
    if (attempt.payer !== payer) continue
    const { idempotencyKey, credits } = attempt
    if (idempotencyKey === undefined) {
      if (end === 'answered') answered += credits
      if (end === undefined) unknown += credits
      continue
    }
    if (end === undefined || end === 'refused') continue
    if (end === 'answered') answers.set(idempotencyKey, (answers.get(idempotencyKey) ?? 0) + 1)
    const call = calls.find(({ key }) => key.endsWith(`/${idempotencyKey}`))
    if (!call?.done) world.violate('I19', `${payer} was answered ${idempotencyKey}, and it is not debited`)
  }
  for (const [key, times] of answers)
    if (times > 1) world.violate('I19', `${payer} was answered ${key} ${times} times, and not from the store`)
  const least = answered + named
  if (unknown > 0) world.count('prepaid outcomes unknown')
  if (spent < least) world.violate('I19', `${payer} spent ${spent}, and ${least} were answered`)
  if (spent > least + unknown)
    world.violate('I19', `${payer} spent ${spent}, and ${least} were answered and ${unknown} are unknown`)
}
