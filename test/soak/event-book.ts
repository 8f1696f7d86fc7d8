import type { Evidence } from './evidence.ts'

/** What the seller was told by webhooks, and what the ledger says: nothing is missing, nothing has two stories. */
export function compareEvents({ events, forged, ledger }: Evidence): string[] {
  const found = forged.map((text) => `a webhook had a wrong signature: ${text.slice(0, 200)}`)
  const byId = new Map<string, string>()
  const told = new Map<string, Map<string, string>>()
  for (const { id, ...body } of events) {
    const text = JSON.stringify(body)
    const before = byId.get(id)
    if (before !== undefined && before !== text)
      found.push(`webhook ${id} came with two bodies: ${before} and ${text}`)
    byId.set(id, text)
    const challengeId = body.data.challengeId
    if (typeof challengeId !== 'string') continue
    const types = told.get(challengeId) ?? new Map<string, string>()
    told.set(challengeId, types)
    const known = types.get(body.type)
    if (known !== undefined && known !== id && !body.type.startsWith('refund.'))
      found.push(`${body.type} of ${challengeId} came under two ids: ${known} and ${id}`)
    types.set(body.type, id)
  }
  const known = new Set<string>()
  for (const { challenge, receipts, refunds } of ledger) {
    const { key, state } = challenge
    known.add(key)
    const types = told.get(key)
    const expected = [
      ...(receipts.some(({ role, lost }) => role === 'pays' && !lost) ? ['payment.settled'] : []),
      ...(state === 'DELIVERED' ? ['access.delivered'] : []),
      ...(refunds.some(({ phase }) => phase === 'DONE') ? ['refund.pending', 'refund.settled'] : []),
    ]
    for (const type of expected)
      if (!types?.has(type)) found.push(`${key} is ${state}, and ${type} never arrived`)
    if (types?.has('access.delivered') && state !== 'DELIVERED')
      found.push(`${key} is ${state}, and the seller was told that it was delivered`)
  }
  for (const challengeId of told.keys())
    if (!known.has(challengeId))
      found.push(`a webhook tells of ${challengeId}, which the ledger does not know`)
  return found
}
