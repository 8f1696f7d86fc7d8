import type { Session } from './wire.ts'

/** An error response, or none at all (`status` 0), with a message for the user. */
export class ApiError extends Error {
  readonly status: number
  readonly body: Record<string, unknown>

  constructor(status: number, message: string, body: Record<string, unknown> = {}) {
    super(message)
    this.status = status
    this.body = body
  }
}

/** In an application of the seller's own, the dashboard's address ends with a slash, and its API is below it. */
export const isEmbedded = location.pathname.endsWith('/')

/** The part of the path before `/setup` or `/admin`; of an embedded dashboard, where it is mounted. */
export const basePath = location.pathname.replace(isEmbedded ? /\/$/ : /\/(setup|admin)(\.html)?$/, '')

/** The address of a path such as `/admin/api/overview`. */
export const addressOf = (path: string): string =>
  basePath + (isEmbedded ? path.replace(/^\/admin/, '') : path)

let csrf = ''
let onLoggedOut: () => void = () => {}

/** Called once, by the frame of the page: sets what to do when the session has ended. */
export function whenLoggedOut(act: () => void): void {
  onLoggedOut = act
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return await call<T>(path, { ...(signal && { signal }) })
}

export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  return await call<T>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}

export async function readSession(): Promise<Session> {
  const session = await get<Session>('/admin/api/session')
  csrf = session.csrf ?? ''
  return session
}

/** Whether the session still holds; where it has ended, the login is shown. */
export async function checkSession(): Promise<boolean> {
  const { loggedIn } = await readSession()
  if (!loggedIn) onLoggedOut()
  return loggedIn
}

export async function logIn(token: string): Promise<void> {
  const answer = await post<{ csrf: string }>('/admin/api/login', { token })
  csrf = answer.csrf
}

async function call<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(addressOf(path), {
    ...init,
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(0, 'The server does not answer. Is it running?')
  })
  const body = await readBody(response, init.signal)
  if (response.ok) return body as T
  if (response.status === 401 && path !== '/admin/api/login') onLoggedOut()
  throw new ApiError(response.status, messageOf(response, body), body)
}

/** A response that was cut off counts as none; only an error response may have no body. */
async function readBody(
  response: Response,
  signal: AbortSignal | null | undefined,
): Promise<Record<string, unknown>> {
  try {
    const body: unknown = await response.json()
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>
  } catch {
    // Handled below.
  }
  // The caller has cancelled the request, so this is not an error.
  signal?.throwIfAborted()
  if (response.ok) throw new ApiError(0, 'The answer of the server broke off. Try again.')
  return {}
}

function messageOf(response: Response, body: Record<string, unknown>): string {
  for (const text of [body.error, body.message]) if (typeof text === 'string') return text
  return `The server answered ${response.status} ${response.statusText}.`.replace(' .', '.')
}
