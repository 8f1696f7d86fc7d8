import type { SavedValues } from '../../config/config-file.ts'
import type { Fault } from '../../config/name-fault.ts'
import type { Configuration } from '../../config/read-configuration.ts'
import type { Env } from '../../config/read-variable.ts'
import type { Peer } from '../../transports/http/safeguards.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import type { Doubt } from '../auth/create-auth.ts'
import { candidateOf } from './candidate.ts'
import type { SetupState } from './describe-state.ts'

export type Saved =
  | { kind: 'saved'; url: string }
  | { kind: 'faulty'; faults: Fault[]; missing: Fault[] }
  /** Right, but it would leave records behind: the operator must say that this is meant. */
  | { kind: 'unconfirmed'; reasons: string[] }
  /** It changes what only the operator with the token at hand may change. */
  | { kind: 'unproven'; names: string[]; doubt: Doubt }
  | { kind: 'failed'; error: string }

export interface SetupApiParts {
  environment: Env
  /** What is saved now. */
  saved(): SavedValues
  state(): Promise<SetupState>
  /** These values under the environment. */
  read(values: SavedValues): Configuration
  save(values: SavedValues, how: SaveHow): Promise<Saved>
}

export interface SaveHow {
  /** What would be left behind is meant to be. */
  confirmed: boolean
  /** As it was sent. */
  token: unknown
  request: Request
  peer: Peer
}

/** Enough for a catalog of a thousand routes. */
const LIMITS = { maxBodyBytes: 512 * 1024, requestTimeoutMs: 10_000 }

/** The setup page's API. Called for logged-in requests only; undefined: not its path. */
export function createSetupApi(
  parts: SetupApiParts,
): (request: Request, path: string, peer: Peer) => Promise<Response | undefined> {
  async function candidate(request: Request) {
    const body = await readJsonObject(request, LIMITS)
    if (body instanceof Response) return body
    const { confirm, token } = body
    return { ...candidateOf(body, parts.environment, parts.saved()), confirmed: confirm === true, token }
  }

  async function check(request: Request): Promise<Response> {
    const asked = await candidate(request)
    if (asked instanceof Response) return asked
    // Loaded when it is needed: a server that only sells never needs it.
    const { checkCandidate } = await import('./check-candidate.ts')
    return apiReply(200, await checkCandidate(parts.read(asked.values), asked.faults))
  }

  async function save(request: Request, peer: Peer): Promise<Response> {
    const asked = await candidate(request)
    if (asked instanceof Response) return asked
    const { confirmed, token } = asked
    if (asked.faults.length > 0) return apiReply(422, { faults: asked.faults, missing: [] })
    const saved = await parts.save(asked.values, { confirmed, token, request, peer })
    switch (saved.kind) {
      case 'saved':
        return apiReply(200, { saved: true, live: true, url: saved.url })
      case 'faulty':
        return apiReply(422, { faults: saved.faults, missing: saved.missing })
      case 'unconfirmed':
        return apiReply(409, {
          error: `${saved.reasons.join(' ')} Send confirm: true if this is meant.`,
          needsConfirm: true,
          reasons: saved.reasons,
        })
      case 'unproven':
        return unproven(saved)
      case 'failed':
        return apiReply(503, { error: saved.error })
    }
  }

  return async (request, path, peer) => {
    switch (`${request.method} ${path}`) {
      case 'GET /setup/api/state':
        return apiReply(200, await parts.state())
      case 'POST /setup/api/check':
        return check(request)
      case 'POST /setup/api/save':
        return save(request, peer)
      default:
        return undefined
    }
  }
}

function unproven({ names, doubt }: Extract<Saved, { kind: 'unproven' }>): Response {
  const error = `To change ${names.join(', ')}, send the operator's token again as token. ${doubt.error}`
  const body = { error, needsToken: true, names, reason: doubt.error }
  if (doubt.retryAfterSeconds === undefined) return apiReply(403, body)
  return apiReply(429, body, { 'retry-after': String(doubt.retryAfterSeconds) })
}
