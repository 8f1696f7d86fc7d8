import type { Store } from '../../ports.ts'

/** The rows of `marks` that name the plans which grant credits, or once did. */
const KNOWN = 'credit-plans'
const keyOf = (planId: string): string => `credit-plan/${planId}`
const planOf = (key: string): string => key.slice(keyOf('').length)

const PAGE = 500
const MAX_PAGES = 20

/**
 * Remembers which plans grant credits, and answers those that did and no longer do: what was bought of them is spent until
 * it expires. Where nothing is remembered, an earlier version may have sold some: their plans are found in ten thousand
 * purchases, those that end first.
 */
export async function rememberCreditPlans(
  store: Pick<Store, 'list' | 'listDue' | 'commit'>,
  plans: ReadonlyArray<{ planId: string; credits?: number | undefined }>,
): Promise<string[]> {
  const granting = plans.flatMap(({ planId, credits }) => (credits === undefined ? [] : planId))
  const known = (await store.list('marks', KNOWN)).map(({ key }) => planOf(key))
  const before = known.length > 0 ? known : await plansOfPurchases(store)
  for (const planId of new Set([...granting, ...before])) {
    if (known.includes(planId)) continue
    const row = { key: keyOf(planId), version: 0, ref: KNOWN, dueAt: null, value: 1 }
    // A conflict means that another instance was first.
    await store.commit({ puts: [{ table: 'marks', row }] })
  }
  return before.filter((planId) => !granting.includes(planId))
}

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
