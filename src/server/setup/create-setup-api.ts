import type { SavedValues } from '../../config/config-file.ts'
import type { Fault } from '../../config/name-fault.ts'
import type { Configuration } from '../../config/read-configuration.ts'
import type { Env } from '../../config/read-variable.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import { candidateOf } from './candidate.ts'
import type { SetupState } from './describe-state.ts'

export type Saved =
  | { kind: 'saved'; url: string }
  | { kind: 'faulty'; faults: Fault[]; missing: Fault[] }
  /** Right, but it would leave records behind: the operator must say that this is meant. */
  | { kind: 'unconfirmed'; reasons: string[] }
  | { kind: 'failed'; error: string }

export interface SetupApiParts {
  environment: Env
  /** What is saved now. */
  saved(): SavedValues
  state(): Promise<SetupState>
  /** These values under the environment. */
  read(values: SavedValues): Configuration
  save(values: SavedValues, confirmed: boolean, request: Request): Promise<Saved>
}

/** Enough for a catalog of a thousand routes. */
const LIMITS = { maxBodyBytes: 512 * 1024, requestTimeoutMs: 10_000 }

/** The setup page's API. Called for logged-in requests only; undefined: not its path. */
export function createSetupApi(
  parts: SetupApiParts,
): (request: Request, path: string) => Promise<Response | undefined> {
  async function candidate(request: Request) {
    const body = await readJsonObject(request, LIMITS)
    if (body instanceof Response) return body
    return { ...candidateOf(body, parts.environment, parts.saved()), confirmed: body.confirm === true }
  }

  async function check(request: Request): Promise<Response> {
    const asked = await candidate(request)
    if (asked instanceof Response) return asked
    // Loaded when it is needed: a server that only sells never needs it.
    const { checkCandidate } = await import('./check-candidate.ts')
    return apiReply(200, await checkCandidate(parts.read(asked.values), asked.faults))
  }

  async function save(request: Request): Promise<Response> {
    const asked = await candidate(request)
    if (asked instanceof Response) return asked
    if (asked.faults.length > 0) return apiReply(422, { faults: asked.faults, missing: [] })
    const saved = await parts.save(asked.values, asked.confirmed, request)
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
      case 'failed':
        return apiReply(503, { error: saved.error })
    }
  }

  return async (request, path) => {
    switch (`${request.method} ${path}`) {
      case 'GET /setup/api/state':
        return apiReply(200, await parts.state())
      case 'POST /setup/api/check':
        return check(request)
      case 'POST /setup/api/save':
        return save(request)
      default:
        return undefined
    }
  }
}
