import { beforeEach, describe, expect, test } from 'vitest'
import { createAdminToken } from './admin-token.ts'
import { type Auth, createAuth } from './create-auth.ts'
import { createSessions } from './sessions.ts'

const OWN = 'a token of the operator'
const peer = { address: '203.0.113.7' }
let own: string | null
let printed: string[]
let now: number
let secure: boolean
let auth: Auth
let first: string | undefined

beforeEach(() => {
  own = OWN
  printed = []
  now = 1_000_000
  secure = false
  const token = createAdminToken(
    () => own,
    (fresh) => printed.push(fresh),
  )
  own = null
  first = token.printed()
  own = OWN
  auth = createAuth({
    token,
    sessions: createSessions(),
    pageLocation: () => ({ cookiePaths: ['/pay/admin', '/pay/setup'], hosts: ['shop.example'], secure }),
    describe: () => ({ configured: true }),
    describeForOperator: () => ({ network: 'eip155:84532' }),
    now: () => now,
  })
})

const url = 'http://localhost/pay/x'
const json = { 'content-type': 'application/json' }
const post = (headers: Record<string, string> = {}, body: unknown = {}) =>
  new Request(url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
const get = (headers: Record<string, string> = {}) => new Request(url, { headers })

async function login(token: unknown, from = peer) {
  const response = (await auth.answer(post({}, { token }), '/admin/api/login', from))!
  const cookie = response.headers.getSetCookie().join('\n')
  const body = (await response.json()) as { csrf: string; error?: string }
  return {
    status: response.status,
    cookie,
    session: cookie.split(';')[0]!,
    headers: response.headers,
    ...body,
  }
}
const session = async (cookie: string) =>
  (await auth.answer(get({ cookie }), '/admin/api/session', peer))!.json()

describe('login', () => {
  test('the token opens a session: a cookie that scripts and other sites cannot use', async () => {
    const { status, cookie, csrf } = await login(OWN)
    expect(status).toBe(200)
    expect(csrf).toMatch(/^[\w-]{43}$/)
    const rules = 'Max-Age=43200; HttpOnly; SameSite=Strict'
    const id = /^svc_admin=([\w-]{43});/.exec(cookie)?.[1]
    expect(cookie.split('\n'), 'never sent with a call of a buyer').toEqual([
      `svc_admin=${id}; Path=/pay/admin; ${rules}`,
      `svc_admin=${id}; Path=/pay/setup; ${rules}`,
    ])
    secure = true
    expect((await login(OWN)).cookie).toMatch(/; Secure$/)
  })

  test.each([['wrong'], [''], [OWN.slice(0, -1)], [`${OWN}x`], [null], [{}], [undefined]])(
    '%j does not',
    async (token) => {
      const { status, cookie } = await login(token)
      expect([status, cookie]).toEqual([401, ''])
    },
  )

  test('a printed token can be used for one login; then the next one is printed', async () => {
    own = null
    expect((await login(first)).status).toBe(200)
    expect((await login(first)).status).toBe(401)
    expect((await login(printed[0])).status).toBe(200)
    own = OWN
    expect((await login(printed[1])).status, 'not beside ADMIN_TOKEN').toBe(401)
  })

  test('the eleventh try in a minute is refused even with the right token; other addresses are not affected', async () => {
    for (let tries = 0; tries < 10; tries++) expect((await login('guess')).status).toBe(401)
    const held = await login(OWN)
    expect([held.status, Number(held.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await login(OWN, { address: '203.0.113.8' })).status).toBe(200)
    now += 120_000
    expect((await login(OWN)).status).toBe(200)
  })

  test('a body that is large, or no JSON, is refused', async () => {
    const send = async (body: string, headers: Record<string, string> = json) =>
      (await auth.answer(new Request(url, { method: 'POST', headers, body }), '/admin/api/login', peer))!
        .status
    expect(await send(JSON.stringify({ token: 'x'.repeat(5000) }))).toBe(413)
    expect(await send('token=x')).toBe(400)
    expect(await send('[]')).toBe(400)
    expect(await send(JSON.stringify({ token: OWN }), { 'content-type': 'text/plain' })).toBe(415)
  })
})

describe('sessions', () => {
  test('the cookie is enough for reading; writing needs the CSRF token too', async () => {
    const { session: cookie, csrf } = await login(OWN)
    expect(await session(cookie)).toEqual({ loggedIn: true, configured: true, csrf, network: 'eip155:84532' })
    expect(auth.refuse(get({ cookie }), peer)).toBeUndefined()
    expect(auth.refuse(post({ cookie, 'x-csrf-token': csrf }), peer)).toBeUndefined()
    expect(auth.refuse(post({ cookie }), peer)?.status).toBe(403)
    expect(auth.refuse(post({ cookie, 'x-csrf-token': `${csrf}x` }), peer)?.status).toBe(403)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(auth.refuse(post({ cookie, 'x-csrf-token': csrf, ...form }), peer)?.status).toBe(415)
  })

  test('without a session only that fact is shown', async () => {
    expect(await session('svc_admin=guess')).toEqual({ loggedIn: false, configured: true })
    for (const headers of [{}, { cookie: 'svc_admin=' }, { cookie: 'svc_admin=guess' }] as Record<
      string,
      string
    >[]) {
      expect(auth.refuse(get(headers), peer)?.status).toBe(401)
      expect(auth.refuse(post(headers), peer)?.status).toBe(401)
    }
  })

  test('a session ends by logout and after twelve hours', async () => {
    const one = await login(OWN)
    const other = await login(OWN)
    const headers = { cookie: one.session, 'x-csrf-token': one.csrf }
    expect((await auth.answer(post({ cookie: one.session }), '/admin/api/logout', peer))!.status).toBe(403)
    const out = (await auth.answer(post(headers), '/admin/api/logout', peer))!
    expect(out.headers.getSetCookie()).toEqual([
      expect.stringContaining('svc_admin=; Path=/pay/admin; Max-Age=0'),
      expect.stringContaining('svc_admin=; Path=/pay/setup; Max-Age=0'),
    ])
    expect(auth.refuse(get({ cookie: one.session }), peer)?.status).toBe(401)
    expect(auth.refuse(get({ cookie: other.session }), peer)).toBeUndefined()
    now += 12 * 3_600_000
    expect(auth.refuse(get({ cookie: other.session }), peer)?.status).toBe(401)
  })
})

describe('attack 40: other pages', () => {
  const api = async (method: string, headers: Record<string, string>) => {
    const body = method === 'POST' ? { body: JSON.stringify({ token: OWN }) } : {}
    const request = new Request(url, {
      method,
      headers: { ...json, host: 'here.example', ...headers },
      ...body,
    })
    const path = method === 'POST' ? '/admin/api/login' : '/admin/api/session'
    return (await auth.answer(request, path, peer))?.status
  }

  test.each([
    ['cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['same-site, such as another port', { 'sec-fetch-site': 'same-site', origin: 'http://here.example:81' }],
    ['sandboxed', { origin: 'null' }],
    ['sandboxed, over https', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['of another host', { origin: 'http://evil.example' }],
    ['of another port', { origin: 'http://here.example:81' }],
  ])('%s: refused, whatever it knows', async (_what, headers) => {
    expect(await api('GET', headers)).toBe(403)
    expect(await api('POST', headers)).toBe(403)
  })

  test('accepted: our own pages, under the host that the browser used or that of BASE_URL, and programs', async () => {
    for (const headers of [
      {},
      { 'sec-fetch-site': 'same-origin', origin: 'https://behind-a-proxy.example' },
      { origin: 'http://here.example' },
      { origin: 'https://shop.example' },
    ] as Array<Record<string, string>>) {
      expect(await api('GET', headers)).toBe(200)
      expect(await api('POST', headers)).toBe(200)
    }
    expect(await api('GET', { 'sec-fetch-site': 'none' })).toBe(200)
    expect(await api('POST', { 'sec-fetch-site': 'none' })).toBe(403)
  })

  test('a cookie that another page has added does not hide the session', async () => {
    const { session: cookie } = await login(OWN)
    expect(auth.refuse(get({ cookie: `svc_admin=tossed; ${cookie}` }), peer)).toBeUndefined()
  })
})

describe('what needs the token again', () => {
  test('the token in the body or as bearer is accepted; tries are counted', async () => {
    const refusal = (given: unknown, headers: Record<string, string> = {}) =>
      auth.refuseToken(post(headers), given, peer)
    expect(refusal(undefined)).toEqual({ error: 'It is ADMIN_TOKEN.' })
    expect(refusal(OWN)).toBeUndefined()
    expect(refusal(undefined, { authorization: `Bearer ${OWN}` })).toBeUndefined()
    for (let tries = 0; tries < 9; tries++) expect(refusal('guess')?.error).toMatch(/^This is not the token/)
    expect(refusal(OWN)).toMatchObject({
      error: expect.stringContaining('Too many'),
      retryAfterSeconds: expect.any(Number),
    })
  })

  test('a printed token can be used once, and then the next one is printed', () => {
    own = null
    expect(auth.refuseToken(post(), first, peer)).toBeUndefined()
    expect(auth.refuseToken(post(), first, peer)?.error).toContain('in the log')
    expect(auth.refuseToken(post(), printed[0], peer)).toBeUndefined()
  })
})

describe('scripts', () => {
  test('the bearer ADMIN_TOKEN needs neither cookie nor CSRF token', () => {
    const authorization = `Bearer ${OWN}`
    expect(auth.refuse(get({ authorization }), peer)).toBeUndefined()
    expect(auth.refuse(post({ authorization }), peer)).toBeUndefined()
    expect(auth.refuse(post({ authorization, 'content-type': 'text/plain' }), peer)?.status).toBe(415)
  })

  test('wrong tokens are counted, and do not block the right one', () => {
    const guess = () => auth.refuse(get({ authorization: 'Bearer guess' }), peer)?.status
    expect(Array.from({ length: 11 }, guess)).toEqual([...Array(10).fill(401), 429])
    expect(auth.refuse(get({ authorization: `Bearer ${OWN}` }), peer)).toBeUndefined()
  })

  test('a printed token is accepted at the login only', () => {
    own = null
    expect(auth.refuse(get({ authorization: `Bearer ${first}` }), peer)?.status).toBe(401)
  })
})
