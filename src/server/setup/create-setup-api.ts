import type { SavedValues } from '../../config/config-file.ts'
import type { Configuration } from '../../config/read-configuration.ts'
import type { Env } from '../../config/read-variable.ts'
import type { Fault } from '../../config/variable-fault.ts'
import { ConfigError } from '../../errors.ts'
import type { Peer } from '../../transports/http/safeguards.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import type { TokenRefusal } from '../auth/create-auth.ts'
import { candidateOf } from './candidate.ts'
import type { SetupState } from './describe-state.ts'

export type SaveResult =
  | { kind: 'saved'; url: string }
  | { kind: 'faulty'; faults: Fault[]; missing: Fault[] }
  /** Valid, but it would leave records behind: the operator must confirm that this is meant. */
  | { kind: 'unconfirmed'; reasons: string[] }
  /** It changes values for which a login is not enough: the operator's token must come with the request. */
  | { kind: 'token-needed'; names: string[]; refusal: TokenRefusal }
  | { kind: 'failed'; error: string }

export interface SetupApiParts {
  environment: Env
  /** The values in the saved file. */
  saved(): SavedValues
  state(): Promise<SetupState>
  /** The configuration that these values and the environment make together. */
  read(values: SavedValues): Configuration
  save(values: SavedValues, options: SaveOptions): Promise<SaveResult>
}

export interface SaveOptions {
  /** The operator has confirmed that records may be left behind. */
  confirmed: boolean
  /** The operator's token as the page sent it, unchecked. */
  token: unknown
  request: Request
  peer: Peer
}

/** Enough for a catalog of a thousand routes. */
const LIMITS = { maxBodyBytes: 512 * 1024, requestTimeoutMs: 10_000 }
/** A description of 2 MB as a JSON text, with the routes that are there. */
const IMPORT_LIMITS = { maxBodyBytes: 5 * 1024 * 1024, requestTimeoutMs: 30_000 }

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
    // Loaded only when it is needed: a server that is set up by its environment never needs it.
    const { checkCandidate } = await import('./check-candidate.ts')
    return apiReply(200, await checkCandidate(parts.read(asked.values), asked.faults))
  }

  async function importRoutes(request: Request): Promise<Response> {
    const body = await readJsonObject(request, IMPORT_LIMITS)
    if (body instanceof Response) return body
    const { importDescription } = await import('./import-description.ts')
    try {
      return apiReply(200, await importDescription(body))
    } catch (error) {
      if (error instanceof ConfigError) return apiReply(422, { error: error.message })
      throw error
    }
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
      case 'token-needed':
        return tokenNeeded(saved)
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
      case 'POST /setup/api/import':
        return importRoutes(request)
      case 'POST /setup/api/save':
        return save(request, peer)
      default:
        return undefined
    }
  }
}

function tokenNeeded({ names, refusal }: Extract<SaveResult, { kind: 'token-needed' }>): Response {
  const error = `To change ${names.join(', ')}, send the operator's token again as token. ${refusal.error}`
  const body = { error, needsToken: true, names, reason: refusal.error }
  if (refusal.retryAfterSeconds === undefined) return apiReply(403, body)
  return apiReply(429, body, { 'retry-after': String(refusal.retryAfterSeconds) })
}
