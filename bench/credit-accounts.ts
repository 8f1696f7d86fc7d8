import { randomBytes } from 'node:crypto'
import { resourceEndpointOf } from '../src/delivery/grant.ts'
import { createJwtDelivery } from '../src/delivery/issue-jwt.ts'
import { sharedSecretKeys } from '../src/delivery/token-keys.ts'
import { creditsOf } from '../src/engine/credits/credit-rows.ts'
import type { ChallengeRow, Order, Put, StoreChoice } from '../src/ports.ts'
import { openStore } from '../src/stores/open-store.ts'
import { sampleRow } from '../src/testing/store-rows.ts'

export const PLAN_ID = 'credits'
/** More than any cell spends. */
export const GRANTED = 100_000_000
const TTL_SECONDS = 7 * 86_400
const ROWS_PER_STEP = 500

export interface CreditAccounts {
  /** `Authorization` of each account, for a gateway at this address with this secret. */
  bearers(baseUrl: string, tokenSecret: string): Promise<string[]>
}

/**
 * Accounts with credits, written straight into a store that no gateway has open: so many purchases on the local chain
 * would take hours. Each has the rows that a delivered purchase leaves.
 */
export async function fillAccounts(choice: StoreChoice, count: number): Promise<CreditAccounts> {
  const paidAt = Date.now()
  const challenges = Array.from({ length: count }, () => deliveredChallenge(paidAt))
  const store = await openStore(choice, { raise: () => {} })
  try {
    for (let from = 0; from < count; from += ROWS_PER_STEP) {
      const puts = challenges.slice(from, from + ROWS_PER_STEP).flatMap(rowsOf)
      const { kind } = await store.commit({ puts, removes: [], audit: [] })
      if (kind !== 'applied') throw new Error('the accounts could not be stored')
    }
  } finally {
    await store.close()
  }
  return { bearers: (baseUrl, tokenSecret) => bearersOf(challenges, baseUrl, tokenSecret) }
}

function deliveredChallenge(paidAt: number): ChallengeRow {
  const hex = (bytes: number): `0x${string}` => `0x${randomBytes(bytes).toString('hex')}`
  return {
    ...sampleRow('challenges', { key: `http-${randomBytes(34).toString('base64url')}` }),
    ...{
      kind: 'plan',
      itemId: PLAN_ID,
      resource: null,
      claimed: true,
      state: 'DELIVERED',
      amount: '1000000',
    },
    ...{ requestId: randomBytes(12).toString('base64url'), payer: hex(20), txHash: hex(32), paidAt },
    ...{ paidByKey: true, result: '{}' },
  }
}

function rowsOf(challenge: ChallengeRow): Put[] {
  const catalog = {
    plans: new Map([[PLAN_ID, { amount: '1000000', description: PLAN_ID, credits: GRANTED }]]),
  }
  const expiresAt = challenge.paidAt! + TTL_SECONDS * 1000
  const core = { config: { catalog } } as unknown as Parameters<typeof creditsOf>[0]
  return [{ table: 'challenges', row: challenge }, ...creditsOf(core, challenge, expiresAt)]
}

function bearersOf(challenges: readonly ChallengeRow[], baseUrl: string, secret: string): Promise<string[]> {
  const resourceEndpoint = `${baseUrl}/resource/{resourceId}`
  const delivery = createJwtDelivery({
    keys: sharedSecretKeys(secret),
    issuer: baseUrl,
    tokenTtlSeconds: TTL_SECONDS,
    plans: [],
    places: { resourceEndpoint, explorerTxUrl: () => '' },
  })
  return Promise.all(
    challenges.map(async ({ key, ...challenge }) => {
      const order = { ...challenge, challengeId: key } as unknown as Order
      const delivered = await delivery.deliver(order)
      if (delivered.kind !== 'delivered') throw new Error(`no token: ${delivered.reason}`)
      const grant = await delivery.open(order, delivered.sealed)
      if (grant.resourceEndpoint !== resourceEndpointOf(resourceEndpoint, grant.resourceId))
        throw new Error('the token is for another resource')
      return `Bearer ${grant.accessToken}`
    }),
  )
}
