import { createRateLimit } from '../../transports/http/rate-limit.ts'
import type { Peer } from '../../transports/http/safeguards.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import { type AdminToken, sameSecret } from './admin-token.ts'
import { SESSION_SECONDS, type Session, type Sessions } from './sessions.ts'

export interface AuthOptions {
  token: AdminToken
  sessions: Sessions
  /** Of BASE_URL as it is now: the cookie's path, and whether it is for https only. */
  place(): { basePath: string; secure: boolean }
  /** Shown to everybody by `GET /admin/api/session`. */
  describe(): Record<string, unknown>
  /** Shown to those who are logged in. */
  describeInside(): Record<string, unknown>
  now?(): number
}

export interface Auth {
  /** Login, session and logout; undefined: another path. */
  answer(request: Request, path: string, peer: Peer): Promise<Response | undefined>
  /** The refusal of whoever may not call the API; undefined lets the request pass. */
  refuse(request: Request, peer: Peer): Response | undefined
  sessionOf(request: Request): Session | undefined
}

const COOKIE = 'svc_admin'
const TRIES_PER_MINUTE = 10
const LOGIN_LIMITS = { maxBodyBytes: 4096, requestTimeoutMs: 10_000 }

/** Who may use /setup and /admin: a cookie with a CSRF token for browsers, the bearer `ADMIN_TOKEN` for scripts. */
export function createAuth(options: AuthOptions): Auth {
  const { token, sessions, place, now = Date.now } = options
  const limit = createRateLimit({ perMinute: TRIES_PER_MINUTE })

  /** Counts a try; the refusal when there were too many. */
  function tried(peer: Peer): Response | undefined {
    const verdict = limit(peer.address ?? 'unknown', now())
    if (verdict.ok) return undefined
    const error = `Too many tries from this address; wait ${verdict.retryAfterSeconds} s.`
    return apiReply(429, { error }, { 'retry-after': String(verdict.retryAfterSeconds) })
  }

  function sessionOf(request: Request): Session | undefined {
    const id = cookieOf(request)
    return id === undefined ? undefined : sessions.find(id, now())
  }

  function cookie(value: string, maxAgeSeconds: number): Record<string, string> {
    const { basePath, secure } = place()
    const parts = [`${COOKIE}=${value}`, `Path=${basePath}/`, `Max-Age=${maxAgeSeconds}`]
    return {
      'set-cookie': [...parts, 'HttpOnly', 'SameSite=Strict', ...(secure ? ['Secure'] : [])].join('; '),
    }
  }

  async function login(request: Request, peer: Peer): Promise<Response> {
    const refused = notJson(request) ?? tried(peer)
    if (refused) return refused
    const body = await readJsonObject(request, LOGIN_LIMITS)
    if (body instanceof Response) return body
    if (typeof body.token !== 'string' || !token.redeem(body.token)) {
      const hint = token.printed() === undefined ? 'It is ADMIN_TOKEN.' : 'The newest one is in the log.'
      return apiReply(401, { error: `This is not the token. ${hint}` })
    }
    const session = sessions.open(now())
    return apiReply(200, { csrf: session.csrf }, cookie(session.id, SESSION_SECONDS))
  }

  function refuse(request: Request, peer: Peer): Response | undefined {
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    if (bearer !== undefined) {
      // A guess counts as a try, like one at the login; the right token is never held up.
      if (token.matches(bearer)) return needsJson(request)
      return tried(peer) ?? apiReply(401, { error: 'This is not ADMIN_TOKEN.' })
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
    async answer(request, path, peer) {
      switch (`${request.method} ${path}`) {
        case 'POST /admin/api/login':
          return login(request, peer)
        case 'GET /admin/api/session': {
          const session = sessionOf(request)
          const inside = session && { csrf: session.csrf, ...options.describeInside() }
          return apiReply(200, { loggedIn: session !== undefined, ...options.describe(), ...inside })
        }
        case 'POST /admin/api/logout': {
          const refused = refuse(request, peer)
          if (refused) return refused
          const id = cookieOf(request)
          if (id !== undefined) sessions.end(id)
          return apiReply(200, { loggedIn: false }, cookie('', 0))
        }
        default:
          return undefined
      }
    },
  }
}

const isSafe = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'

const needsJson = (request: Request): Response | undefined => (isSafe(request) ? undefined : notJson(request))

/** A form of another site can send anything but this content type without asking us first. */
function notJson(request: Request): Response | undefined {
  const type = request.headers.get('content-type') ?? ''
  if (/^application\/json\s*(;|$)/i.test(type)) return undefined
  return apiReply(415, { error: 'The content type must be application/json.' })
}

function cookieOf(request: Request): string | undefined {
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const [name, value] = part.trim().split('=')
    if (name === COOKIE && value) return value
  }
  return undefined
}
