import { OPERATOR_COOKIE, operatorCookies } from '../../protocol/operator-cookie.ts'
import { createRateLimit } from '../../transports/http/rate-limit.ts'
import type { Peer } from '../../transports/http/safeguards.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import { type AdminToken, sameSecret } from './admin-token.ts'
import { comesFromElsewhere } from './own-page.ts'
import { SESSION_SECONDS, type Session, type Sessions } from './sessions.ts'

export interface AuthOptions {
  token: AdminToken
  sessions: Sessions
  /** Where the pages are now: the paths that their cookie is for, their hosts beside `Host`, and whether they are on https. */
  pageLocation(request: Request): {
    cookiePaths: readonly string[]
    hosts: readonly string[]
    secure: boolean
  }
  /** What the operator calls the token; default `ADMIN_TOKEN`. */
  tokenName?: string
  /** Shown to everybody by `GET /admin/api/session`. */
  describe(): Record<string, unknown>
  /** Shown there to those who are logged in, in addition. */
  describeForOperator(): Record<string, unknown>
  now?(): number
}

export interface Auth {
  /** Answers login, session and logout, and refuses requests that pages of other sites made; undefined: another path. */
  answer(request: Request, path: string, peer: Peer): Promise<Response | undefined>
  /** Undefined if the caller may use the API, otherwise the response that refuses it. */
  refuse(request: Request, peer: Peer): Response | undefined
  sessionOf(request: Request): Session | undefined
  /**
   * For what a login alone does not allow: undefined if the request has the operator's token, as `token` or as its bearer,
   * otherwise why not.
   */
  refuseToken(request: Request, token: unknown, peer: Peer): TokenRefusal | undefined
}

export interface TokenRefusal {
  error: string
  /** Set when there were too many tries. */
  retryAfterSeconds?: number
}

const TRIES_PER_MINUTE = 10
const LOGIN_LIMITS = { maxBodyBytes: 4096, requestTimeoutMs: 10_000 }

/** Who may use /setup and /admin: a cookie with a CSRF token for browsers, the bearer `ADMIN_TOKEN` for scripts. */
export function createAuth(options: AuthOptions): Auth {
  const { token, sessions, pageLocation, tokenName = 'ADMIN_TOKEN', now = Date.now } = options
  const limit = createRateLimit({ perMinute: TRIES_PER_MINUTE })

  /** Counts a try; returns the refusal when there were too many. */
  function overLimit(peer: Peer): Required<TokenRefusal> | undefined {
    const verdict = limit(peer.address ?? 'unknown', now())
    if (verdict.ok) return undefined
    const { retryAfterSeconds } = verdict
    return { error: `Too many tries from this address; wait ${retryAfterSeconds} s.`, retryAfterSeconds }
  }

  function countTry(peer: Peer): Response | undefined {
    const over = overLimit(peer)
    return over && apiReply(429, { error: over.error }, { 'retry-after': String(over.retryAfterSeconds) })
  }

  const whereTokenIs = () =>
    token.printed() === undefined ? `It is ${tokenName}.` : 'The newest one is in the log.'

  function refuseToken(request: Request, given: unknown, peer: Peer): TokenRefusal | undefined {
    const bearer = bearerOf(request)
    if (bearer !== undefined && token.matches(bearer)) return undefined
    if (typeof given !== 'string' || given === '') return { error: whereTokenIs() }
    return (
      overLimit(peer) ??
      (token.redeem(given) ? undefined : { error: `This is not the token. ${whereTokenIs()}` })
    )
  }

  function sessionOf(request: Request): Session | undefined {
    for (const id of operatorCookies(request.headers.get('cookie'))) {
      const session = sessions.find(id, now())
      if (session) return session
    }
    return undefined
  }

  /** Sets the cookie for the paths of the operator's pages and APIs only, so that browsers never send it with a buyer's call. */
  function withCookie(response: Response, request: Request, value: string, maxAgeSeconds: number): Response {
    const { cookiePaths, secure } = pageLocation(request)
    for (const path of cookiePaths) {
      const parts = [`${OPERATOR_COOKIE}=${value}`, `Path=${path}`, `Max-Age=${maxAgeSeconds}`]
      const rules = ['HttpOnly', 'SameSite=Strict', ...(secure ? ['Secure'] : [])]
      response.headers.append('set-cookie', [...parts, ...rules].join('; '))
    }
    return response
  }

  async function login(request: Request, peer: Peer): Promise<Response> {
    const refused = notJson(request) ?? countTry(peer)
    if (refused) return refused
    const body = await readJsonObject(request, LOGIN_LIMITS)
    if (body instanceof Response) return body
    if (typeof body.token !== 'string' || !token.redeem(body.token)) {
      return apiReply(401, { error: `This is not the token. ${whereTokenIs()}` })
    }
    const session = sessions.open(now())
    return withCookie(apiReply(200, { csrf: session.csrf }), request, session.id, SESSION_SECONDS)
  }

  function refuse(request: Request, peer: Peer): Response | undefined {
    const bearer = bearerOf(request)
    if (bearer !== undefined) {
      // A wrong token counts as a try, as at the login; the right one is accepted even when there were too many tries.
      if (token.matches(bearer)) return needsJson(request)
      return countTry(peer) ?? apiReply(401, { error: `This is not ${tokenName}.` })
    }
    const session = sessionOf(request)
    if (!session) return apiReply(401, { error: 'Log in first.' })
    if (isSafe(request)) return undefined
    if (!sameSecret(request.headers.get('x-csrf-token') ?? '', session.csrf)) {
      return apiReply(403, { error: 'The header x-csrf-token is missing or old; load the page again.' })
    }
    return needsJson(request)
  }

  return {
    refuse,
    sessionOf,
    refuseToken,
    async answer(request, path, peer) {
      const { hosts } = pageLocation(request)
      if (comesFromElsewhere(request, hosts)) {
        return apiReply(403, {
          error: 'Only the pages of this server may ask this; open the dashboard and use it.',
        })
      }
      switch (`${request.method} ${path}`) {
        case 'POST /admin/api/login':
          return login(request, peer)
        case 'GET /admin/api/session': {
          const session = sessionOf(request)
          const more = session && { csrf: session.csrf, ...options.describeForOperator() }
          return apiReply(200, { loggedIn: session !== undefined, ...options.describe(), ...more })
        }
        case 'POST /admin/api/logout': {
          const refused = refuse(request, peer)
          if (refused) return refused
          const session = sessionOf(request)
          if (session) sessions.end(session.id)
          return withCookie(apiReply(200, { loggedIn: false }), request, '', 0)
        }
        default:
          return undefined
      }
    },
  }
}

/** The token of an Authorization header; one of the operator's may have spaces. */
export const bearerOf = ({ headers }: Request): string | undefined =>
  /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]?.trim()

const isSafe = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'

const needsJson = (request: Request): Response | undefined => (isSafe(request) ? undefined : notJson(request))

/** Browsers let a form of another site send other content types without a preflight, but not this one. */
function notJson(request: Request): Response | undefined {
  const type = request.headers.get('content-type') ?? ''
  if (/^application\/json\s*(;|$)/i.test(type)) return undefined
  return apiReply(415, { error: 'The content type must be application/json.' })
}
