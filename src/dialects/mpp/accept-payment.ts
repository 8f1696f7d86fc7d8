import { INTENT, METHOD } from './words.ts'

/**
 * Does `Accept-Payment` leave room for our challenges? Without the header every challenge may be offered. The most
 * specific entry decides, as in `Accept`; what cannot be read is ignored.
 */
export function acceptsCharge(header: string | null): boolean {
  if (header === null) return true
  let decided = { specificity: -1, accepted: false, understood: false }
  for (const entry of header.split(',')) {
    const match =
      /^\s*([a-z0-9-]+|\*)\s*\/\s*([a-z0-9-]+|\*)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i.exec(entry)
    if (!match) continue
    decided = { ...decided, understood: true }
    const [, method, intent, q = '1'] = match
    if ((method !== '*' && method !== METHOD) || (intent !== '*' && intent !== INTENT)) continue
    const specificity = Number(method !== '*') + Number(intent !== '*')
    if (specificity > decided.specificity) decided = { ...decided, specificity, accepted: Number(q) > 0 }
  }
  return !decided.understood || decided.accepted
}
