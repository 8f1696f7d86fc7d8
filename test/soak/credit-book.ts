import { CREDITS } from './catalog.ts'
import type { Evidence } from './evidence.ts'

/** Credits: what the shop says is spent, what the ledger says, and the answers that buyers hold. */
export function compareCredits({ hands, balances, ledger }: Evidence): string[] {
  const found: string[] = []
  for (const [payer, { served }] of hands.accounts) {
    const expect = (holds: boolean, otherwise: string) =>
      void (holds || found.push(`the account of ${payer} ${otherwise}`))
    const plans = hands.deals.filter(
      (deal) => deal.payer === payer && deal.way === 'credits plan' && deal.got,
    )
    const lots = ledger.flatMap(({ challenge, credits }) =>
      challenge.payer === payer && credits?.lot ? [credits.lot] : [],
    )
    const recorded = lots.reduce((sum, { spent }) => sum + spent, 0)
    const balance = balances.get(payer)
    expect(recorded === served.size, `has ${served.size} answers, and the ledger says ${recorded} spent`)
    expect(balance?.spent === served.size, `has ${served.size} answers, and is told ${balance?.spent} spent`)
    expect(balance?.reserved === 0, `has ${balance?.reserved} credits reserved at the end`)
    const granted = plans.length * CREDITS
    expect(balance?.granted === granted, `bought ${granted} credits, and is told ${balance?.granted}`)
    const answers = new Set(served.values())
    expect(answers.size === served.size, `has ${served.size} calls and ${answers.size} different answers`)
  }
  return found
}
