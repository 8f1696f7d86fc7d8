import type { Put, Step, Store, TableName } from '../../src/ports.ts'

type Fields = Record<string, unknown>

/** `chainId:wallet:nonce` was `wallet:nonce`; a group of open transactions was the wallet. */
const earlierKey = (key: string) => key.replace(/^\d+:/, '')
const withoutChain = (key: unknown) => (typeof key === 'string' ? earlierKey(key) : key)

/** What the version before rails called things otherwise, or did not have. */
const EARLIER: { [N in TableName]?: (row: Fields) => Fields } = {
  challenges({ rail: _, offeredRequestId, ...row }) {
    return { ...row, ...(offeredRequestId !== undefined && { askedAs: offeredRequestId }) }
  },
  authorizations: ({ rail: _, payer: _payer, value: _value, batchLimit, walletTx, ...row }) => ({
    ...row,
    walletTx: withoutChain(walletTx),
    packLimit: batchLimit,
  }),
  receipts: ({ rail: _, source: _source, ...row }) => row,
  refunds: ({ rail: _, walletTx, ...row }) => ({ ...row, walletTx: withoutChain(walletTx) }),
  walletTxs: ({ chainId: _, key, ref, members, ...row }) => ({
    ...row,
    key: withoutChain(key),
    ref: withoutChain(ref),
    members: (members as Array<{ key: string }>).map((member) => member.key),
  }),
}

/** As that version stored it, so long ago that whoever held it has lost it by now. */
function earlierPut({ table, row }: Put, isLast: boolean): Put {
  const fields: Fields = { ...row }
  if (fields.dueAt !== null) fields.dueAt = 1
  if (table === 'challenges' && isLast) fields.leaseUntil = null
  return { table, row: EARLIER[table]?.(fields) ?? fields } as unknown as Put
}

/** Puts a row into this phase or state. */
export const puts =
  (table: 'authorizations' | 'challenges' | 'refunds', value: string) =>
  (step: Step): boolean =>
    step.puts.some(
      (put) =>
        put.table === table &&
        ('phase' in put.row ? put.row.phase : 'state' in put.row && put.row.state) === value,
    )

/** When the process ends: at a step, which is stored or not. `meanwhile` happens before whoever committed hears of it. */
export interface Ending {
  isLast(step: Step): boolean
  stored: boolean
  meanwhile?(step: Step): Promise<void>
  /** Its jobs look at receipts and refunds of its own challenges. */
  runsJobs?: boolean
}

/**
 * What a process of the version before rails has of the store. It writes that version's rows, and leaves those of others
 * alone. `ended` resolves once it has come to its end: nothing that it does afterwards has any effect.
 */
export function earlierVersion(store: Store, ending: Ending): { store: Store; ended: Promise<void> } {
  const own = new Set<string>()
  let alive = true
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  /** Whoever is dead hears nothing any more. */
  const unlessDead = () => (alive ? undefined : new Promise<void>(() => {}))
  function die(): void {
    alive = false
    end()
  }
  const reading: Pick<Store, 'get' | 'list'> = {
    async get(table, keys) {
      await unlessDead()
      if (table !== 'walletTxs') return store.get(table, keys)
      const rows = await store.get(table, keys.map(earlierKey))
      return rows.map((row, index) => row && { ...row, key: keys[index]! })
    },
    async list(table, ref) {
      await unlessDead()
      return store.list(table, ref)
    },
  }
  return {
    ended,
    store: {
      ...store,
      ...reading,
      async commit(step) {
        await unlessDead()
        const isLast = ending.isLast(step)
        if (isLast && !ending.stored) die()
        await unlessDead()
        const result = await store.commit({ ...step, puts: step.puts.map((put) => earlierPut(put, isLast)) })
        if (result.kind === 'conflict') return result
        for (const { table, row } of step.puts) if (table === 'challenges') own.add(row.key)
        await ending.meanwhile?.(step)
        if (isLast) die()
        return result
      },
      async takeDue(table, nowMs, untilMs, limit) {
        await unlessDead()
        if (!ending.runsJobs || (table !== 'receipts' && table !== 'refunds')) return []
        const rows = await store.takeDue(table, nowMs, untilMs, limit)
        return rows.filter((row) => own.has((row as unknown as { challengeId: string }).challengeId))
      },
      close: async () => {},
    },
  }
}
