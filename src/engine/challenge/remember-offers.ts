import type { MarkRow, Rail, Store } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { type FormerOffers, MAX_RACES } from '../core.ts'

export interface OfferedNow {
  ttlMs: number
  rails: ReadonlyArray<Pick<Rail, 'network' | 'payTo'>>
  /** The time, in ms. */
  now: number
}

type MarkStore = Pick<Store, 'get' | 'list' | 'commit'>

const TTLS = 'challenge-ttls'
const WALLETS = 'paid-wallets'
const IN_FORCE = Number.MAX_SAFE_INTEGER

/**
 * Remembers what offers are made under, and answers what they were made under before: whoever paid one by a plain transfer
 * may prove it long after its record is gone and the settings are others.
 */
export async function rememberOffers(
  store: MarkStore,
  { ttlMs, rails, now }: OfferedNow,
): Promise<FormerOffers> {
  const ttls = await remember(store, TTLS, [String(ttlMs)], (former) => now + Number(former))
  const paid = [...new Set(rails.map(walletName))]
  // Whoever has the key of a former wallet must not buy by paying it: what is offered from now on expires later than this.
  const wallets = await remember(store, WALLETS, paid, () => now + ttlMs)
  return {
    ttls: [...ttls].map(([former, lastExpiry]) => ({ ttlMs: Number(former), lastExpiry })),
    wallets: [...wallets].map(([former, lastExpiry]) => {
      const [network = '', payTo] = former.split('/')
      return { network, payTo: payTo as Address, lastExpiry }
    }),
  }
}

const walletName = ({ network, payTo }: Pick<Rail, 'network' | 'payTo'>): string =>
  `${network.id}/${payTo.toLowerCase()}`

/** What was in force before and is not now, with the last expiry of its offers. */
async function remember(
  store: MarkStore,
  ref: string,
  current: readonly string[],
  lastExpiryOf: (former: string) => number,
): Promise<Map<string, number>> {
  const keyOf = (value: string) => `${ref}/${value}`
  for (let race = 0; race < MAX_RACES; race++) {
    const known = await store.list('marks', ref)
    const former = new Map<string, number>()
    const rows: MarkRow[] = current
      .filter((value) => !known.some(({ key }) => key === keyOf(value)))
      .map((value) => ({ key: keyOf(value), version: 0, ref, dueAt: null, value: IN_FORCE }))
    for (const row of known) {
      const name = row.key.slice(keyOf('').length)
      const value = current.includes(name) ? IN_FORCE : Math.min(row.value, lastExpiryOf(name))
      if (value !== IN_FORCE) former.set(name, value)
      if (value !== row.value) rows.push({ ...row, value })
    }
    const puts = rows.map((row) => ({ table: 'marks' as const, row }))
    if (puts.length === 0 || (await store.commit({ puts })).kind === 'applied') return former
  }
  throw new Error('What offers are made under could not be stored: other instances change it all the time.')
}
