import type { MarkRow, Store } from '../../ports.ts'
import { MAX_RACES } from '../core.ts'

/** The rows of `marks` that name the plans which grant credits, or once did. */
const KNOWN = 'credit-plans'
const keyOf = (planId: string): string => `credit-plan/${planId}`
const planOf = (key: string): string => key.slice(keyOf('').length)

/** The mark that the purchases of earlier versions were searched. */
const SEARCHED = 'credit-plans-searched'

const PAGE = 500
const MAX_PAGES = 20

/**
 * Remembers which plans grant credits, and answers those that did and no longer do: what was bought of them is spent until
 * it expires. An earlier version, which remembered nothing, may have sold some: their plans are found once in ten thousand
 * purchases, those that end first.
 */
export async function rememberCreditPlans(
  store: Pick<Store, 'get' | 'list' | 'listDue' | 'commit'>,
  plans: ReadonlyArray<{ planId: string; credits?: number | undefined }>,
): Promise<string[]> {
  const granting = plans.flatMap(({ planId, credits }) => (credits === undefined ? [] : planId))
  for (let race = 0; race < MAX_RACES; race++) {
    // Read before the list, which then has all that was found.
    const [searched] = await store.get('marks', [SEARCHED])
    const known = (await store.list('marks', KNOWN)).map(({ key }) => planOf(key))
    const before = [...new Set([...known, ...(searched ? [] : await plansOfPurchases(store))])]
    const missing = [...new Set([...granting, ...before])].filter((planId) => !known.includes(planId))
    const rows = missing.map((planId) => markRow(keyOf(planId), KNOWN))
    if (!searched) rows.push(markRow(SEARCHED, null))
    // All of them or none: a start that is cut short begins anew.
    const puts = rows.map((row) => ({ table: 'marks' as const, row }))
    if (puts.length === 0 || (await store.commit({ puts })).kind === 'applied')
      return before.filter((planId) => !granting.includes(planId))
  }
  throw new Error(
    'The plans that grant credits could not be stored: other instances change them all the time.',
  )
}

const markRow = (key: string, ref: string | null): MarkRow => ({
  key,
  version: 0,
  ref,
  dueAt: null,
  value: 1,
})

async function plansOfPurchases(store: Pick<Store, 'listDue'>): Promise<string[]> {
  const found = new Set<string>()
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = (await store.listDue?.('credits', page * PAGE, PAGE)) ?? []
    for (const { ref } of rows) {
      const planId = ref?.split('/')[1]
      if (planId !== undefined) found.add(planId)
    }
    if (rows.length < PAGE) break
  }
  return [...found]
}
