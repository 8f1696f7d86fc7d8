import type { AuditEntry, RowBase, Step, TableName, Tables } from '../ports.ts'

/** A row as stores keep it: the fields that they compare and search by, and the rest as JSON text. */
export interface StoredRow extends RowBase {
  body: string
}

/** A change of one row, valid only while the stored version is `version` (0: absent). Without a row: delete it. */
export interface Write {
  table: TableName
  key: string
  version: number
  row: StoredRow | null
  /** Its `ref` and `dueAt` are those that are stored. */
  inPlace: boolean
}

export interface StoredAudit extends Omit<AuditEntry, 'txHash' | 'details'> {
  txHash: string | null
  details: string | null
}

export interface PreparedStep {
  writes: Write[]
  audit: StoredAudit[]
  deferred: boolean
}

/**
 * Copies a step at the moment of the call, so that later changes of the caller's objects have no effect. Throws if some store
 * could not keep a value exactly: such a step is a bug of ours, and other steps in the same group must not fail with it.
 */
export function prepareStep(step: Step): PreparedStep {
  const writes: Write[] = step.puts.map(({ table, row, inPlace = false }) => {
    const { key, version, ref, dueAt, ...rest } = row
    checkText(key, `${table}.key`)
    if (ref !== null) checkText(ref, `${table}.ref`)
    checkInteger(version, 0, `${table}.version`)
    if (dueAt !== null) checkInteger(dueAt, Number.MIN_SAFE_INTEGER, `${table}.dueAt`)
    const stored = { key, version: version + 1, ref, dueAt, body: JSON.stringify(rest) }
    return { table, key, version, row: stored, inPlace }
  })
  for (const { table, key, version } of step.removes ?? []) {
    checkText(key, `${table}.key`)
    checkInteger(version, 1, `${table}.version`)
    writes.push({ table, key, version, row: null, inPlace: false })
  }
  if (new Set(writes.map(rowId)).size < writes.length) throw new TypeError('a step names one row twice')
  return { writes, audit: (step.audit ?? []).map(prepareAudit), deferred: step.durability === 'deferred' }
}

/** An id that is unique over all tables. */
export function rowId(row: { table: TableName; key: string }): string {
  return `${row.table}:${row.key}`
}

export function fromStored<N extends TableName>(stored: StoredRow): Tables[N] {
  const { body, ...base } = stored
  return { ...JSON.parse(body), ...base }
}

export function fromStoredAudit(stored: StoredAudit): AuditEntry {
  const { txHash, details, ...entry } = stored
  return {
    ...entry,
    ...(txHash !== null && { txHash }),
    ...(details !== null && { details: JSON.parse(details) }),
  }
}

function prepareAudit(entry: AuditEntry): StoredAudit {
  const { at, challengeId, requestId, event, fromState, toState, actor } = entry
  checkInteger(at, Number.MIN_SAFE_INTEGER, 'audit.at')
  for (const text of [challengeId, requestId, event, entry.txHash ?? '']) checkText(text, 'audit')
  const details = entry.details === undefined ? null : JSON.stringify(entry.details)
  return {
    at,
    challengeId,
    requestId,
    event,
    fromState,
    toState,
    actor,
    txHash: entry.txHash ?? null,
    details,
  }
}

/** SQLite cuts text at a NUL, Postgres refuses it, and UTF-8 cannot express lone surrogates, so two keys could become one. */
function checkText(text: string, what: string): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw new TypeError(`${what} holds a NUL or half a character: ${JSON.stringify(text)}`)
  }
}

function checkInteger(value: number, least: number, what: string): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new TypeError(`${what} is ${value}; expected an integer not below ${least}`)
  }
}
