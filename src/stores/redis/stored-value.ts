import type { StoredAudit, StoredRow } from '../prepare-step.ts'

/**
 * A row is one string: version, dueAt (empty: none), ref (empty: none, else `=` and the ref) and the body, separated by
 * NUL, which none of them can contain. A string takes 250 bytes less than a hash with the same fields, one MGET reads many
 * rows, one SET writes one, and scripts compare the head without parsing the body.
 */
export function encodeRow({ version, dueAt, ref, body }: StoredRow): string {
  return `${version}\0${encodeDue(dueAt)}\0${encodeRef(ref)}\0${body}`
}

export function encodeDue(dueAt: number | null): string {
  return dueAt === null ? '' : String(dueAt)
}

/** The `=` distinguishes an empty ref from none. */
export function encodeRef(ref: string | null): string {
  return ref === null ? '' : `=${ref}`
}

export function decodeRow(key: string, value: string): StoredRow {
  const first = value.indexOf('\0')
  const second = value.indexOf('\0', first + 1)
  const third = value.indexOf('\0', second + 1)
  if (third < 0) throw new Error(`row ${key} is not in the form that this version of paystile stores`)
  const dueAt = value.slice(first + 1, second)
  const ref = value.slice(second + 1, third)
  return {
    key,
    version: Number(value.slice(0, first)),
    dueAt: dueAt === '' ? null : Number(dueAt),
    ref: ref === '' ? null : ref.slice(1),
    body: value.slice(third + 1),
  }
}

/** Without the challengeId, which is a field of its own in the stream. */
export function encodeAudit({ challengeId: _, ...entry }: StoredAudit): string {
  return JSON.stringify(entry)
}

export function decodeAudit(challengeId: string, json: string): StoredAudit {
  return { ...(JSON.parse(json) as Omit<StoredAudit, 'challengeId'>), challengeId }
}
