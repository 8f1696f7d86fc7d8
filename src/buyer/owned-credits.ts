import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { CreditLog } from './credit-log.ts'
import { takeTurns } from './take-turns.ts'

/** Where credits are: purchases of one plan for one resource by one payer add up. */
export interface CreditPlace {
  /** Of the gateway, without a slash at the end. */
  base: string
  planId: string
  resourceId: string
}

export interface OwnedToken {
  token: string
  /** The purchase that it came from. */
  requestId: string
  /** Milliseconds; null: it says of no end. */
  expiresAt: number | null
}

export interface CreditAccount extends CreditPlace {
  /** The token that is good for longest: it spends what any purchase of this account granted. */
  owned?: OwnedToken
  /** A purchase that was begun and is not over, by its requestId. */
  pending?: string
  /** The requestId of the last purchase that was completed; null: there was none. */
  last: string | null
  /** The last purchase that calls of another buyer with this storage were debited to. */
  spentElsewhere?: string
}

const Entry = z.object({
  is: z.enum(['begun', 'owned', 'spent', 'ended']),
  payer: z.string(),
  base: z.string(),
  planId: z.string(),
  resourceId: z.string(),
  requestId: z.string(),
  /** `begun`: which purchase was the last one when this one was found necessary. */
  after: z.string().nullable().optional(),
  /** `spent`: by which buyer. */
  by: z.string().optional(),
  token: z.string().optional(),
  expiresAt: z.number().nullable().optional(),
})
type Entry = z.infer<typeof Entry>

/** The credits that a payer bought, as the log of its storage tells it. */
export interface OwnedCredits {
  /** Those at gateways of this origin, after whatever other processes have added. */
  at(origin: string): Promise<CreditAccount[]>
  /**
   * Begins a purchase, unless one is under way: then its requestId is the answer. Undefined: since `after` somebody
   * has bought, so that no purchase is needed.
   */
  begin(place: CreditPlace, after: string | null, requestId: string): Promise<string | undefined>
  own(place: CreditPlace, token: OwnedToken): Promise<void>
  /** A call of this buyer was debited since this purchase; what matters to others is the first. */
  spent(place: CreditPlace, requestId: string): Promise<void>
  /** The purchase came to nothing, or its token is refused. */
  end(place: CreditPlace, requestId: string): Promise<void>
}

export function ownedCredits(log: CreditLog, address: string): OwnedCredits {
  const payer = address.toLowerCase()
  const self = randomUUID()
  const told = new Set<string>()
  const accounts = new Map<string, CreditAccount>()
  let readTo = 0
  // They share the position up to which the log was read.
  const inTurn = takeTurns()

  async function catchUp(): Promise<void> {
    const { lines, next } = await log.read(readTo)
    readTo = next
    for (const line of lines) {
      const entry = entryOf(line)
      if (entry?.payer === payer && entry.by !== self) apply(accountAt(entry), entry)
    }
  }

  function accountAt({ base, planId, resourceId }: CreditPlace): CreditAccount {
    const key = JSON.stringify([base, planId, resourceId])
    const account = accounts.get(key) ?? { base, planId, resourceId, last: null }
    accounts.set(key, account)
    return account
  }

  const write = (
    { base, planId, resourceId }: CreditPlace,
    what: Omit<Entry, 'payer' | keyof CreditPlace>,
  ): Promise<void> => log.append(JSON.stringify({ payer, base, planId, resourceId, ...what }))

  return {
    at: (origin) =>
      inTurn(async () => {
        await catchUp()
        const here = [...accounts.values()].filter(({ base }) => new URL(base).origin === origin)
        return here.map((account) => ({ ...account }))
      }),
    begin: (place, after, requestId) =>
      inTurn(async () => {
        await catchUp()
        const account = accountAt(place)
        if (account.pending === undefined && account.last === after) {
          await write(place, { is: 'begun', requestId, after })
          // Another process may have been faster; then its purchase is the one.
          await catchUp()
        }
        return account.pending
      }),
    own: (place, { token, requestId, expiresAt }) =>
      inTurn(() => write(place, { is: 'owned', requestId, token, expiresAt })),
    async spent(place, requestId) {
      if (told.has(requestId)) return
      told.add(requestId)
      await inTurn(() => write(place, { is: 'spent', requestId, by: self }))
    },
    end: (place, requestId) => inTurn(() => write(place, { is: 'ended', requestId })),
  }
}

function apply(account: CreditAccount, { is, requestId, after, token, expiresAt = null }: Entry): void {
  if (is === 'begun') {
    if (account.pending === undefined && account.last === (after ?? null)) account.pending = requestId
    return
  }
  if (is === 'spent') {
    account.spentElsewhere = requestId
    return
  }
  if (account.pending === requestId) delete account.pending
  if (is === 'ended') {
    if (account.owned?.requestId === requestId) delete account.owned
    return
  }
  if (token === undefined) return
  account.last = requestId
  if (!account.owned || endOf(expiresAt) >= endOf(account.owned.expiresAt)) {
    account.owned = { token, requestId, expiresAt }
  }
}

const endOf = (expiresAt: number | null): number => expiresAt ?? Number.POSITIVE_INFINITY

/** Undefined for the rest of a line that a power cut left unfinished. */
function entryOf(line: string): Entry | undefined {
  try {
    return Entry.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
