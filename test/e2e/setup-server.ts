import { type ChildProcess, spawn } from 'node:child_process'
import { SERVER_PROGRAM } from '../server-program.ts'
import { eventually } from './world.ts'

/** A standalone server as its own process, and an operator with a browser's cookie jar. */
export interface SetupServer {
  baseUrl: string
  /** Everything that it has printed so far. */
  output(): string
  /** The newest URL that it printed for a login. */
  loginUrl(): URL
  request(path: string, init?: RequestInit): Promise<Response>
  /** Logs in and keeps cookie and CSRF token for `api`. */
  login(token: string): Promise<Response>
  api(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export async function startServer(env: Record<string, string>, baseUrl: string): Promise<SetupServer> {
  const child: ChildProcess = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
    env: { PATH: process.env.PATH ?? '', PORT: new URL(baseUrl).port, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const exit = new Promise<number | null>((code) => child.once('exit', code))
  child.stdout!.on('data', (chunk) => {
    output += String(chunk)
  })
  child.stderr!.on('data', (chunk) => {
    output += String(chunk)
  })
  let cookie = ''
  let csrf = ''
  const request = (path: string, init: RequestInit = {}) =>
    fetch(`${baseUrl}${path}`, { redirect: 'manual', ...init })
  const server: SetupServer = {
    baseUrl,
    output: () => output,
    loginUrl: () => new URL([...output.matchAll(/"url":"([^"]*\?token=[^"]+)"/g)].at(-1)?.[1] ?? ''),
    request,
    async login(token) {
      const response = await request('/admin/api/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      })
      if (response.ok) {
        cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
        csrf = ((await response.clone().json()) as { csrf: string }).csrf
      }
      return response
    },
    api: (path, body, headers = {}) =>
      request(path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          cookie,
          ...(body !== undefined && { 'content-type': 'application/json', 'x-csrf-token': csrf }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return exit
    },
  }
  const up = eventually(() =>
    request('/health').then(
      ({ ok }) => ok && /"message":"(ready|not configured)/.test(output),
      () => false,
    ),
  )
  const early = exit.then((code) => {
    throw new Error(`the server ended with ${code}: ${output}`)
  })
  await Promise.race([up, early])
  early.catch(() => {})
  return server
}
