import type { AccessGrant } from '../protocol/access.ts'
import { errorBodyOf } from './answers.ts'

/** The grant that the gateway answered with; undefined: it is something else. */
export function grantOf(text: string): AccessGrant | undefined {
  const value = errorBodyOf(text) as { type?: unknown; accessToken?: unknown }
  return value.type === 'AccessGrant' && typeof value.accessToken === 'string'
    ? (value as AccessGrant)
    : undefined
}
