import { describe, expect, test } from 'vitest'
import { followRedirects } from './follow-redirects.ts'

const signal = new AbortController().signal
const headers = { authorization: 'Bearer mine', cookie: 'a=b', 'content-type': 'text/plain', 'x-key': 'mine' }

/** Answers with the hops in turn, then 200; records the requests. */
function web(...hops: Array<[number, string]>) {
  const asked: Array<{ method: string; url: string; headers: string[] }> = []
  const fetchOnce: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    expect(request.redirect).not.toBe('follow')
    asked.push({ method: request.method, url: request.url, headers: [...request.headers.keys()].sort() })
    const hop = hops[asked.length - 1]
    return hop ? new Response(null, { status: hop[0], headers: { location: hop[1] } }) : new Response('data')
  }
  return { asked, fetchOnce }
}

function follow(
  { fetchOnce }: ReturnType<typeof web>,
  method: string,
  options: { allowedHosts?: string[]; redirect?: 'follow' | 'manual' } = {},
) {
  const body = method === 'GET' ? undefined : new TextEncoder().encode('hello').buffer
  const request = { url: 'https://one.example/a', method, headers: new Headers(headers), body }
  const { allowedHosts, redirect = 'follow' } = options
  const allowed = allowedHosts && new Set(allowedHosts)
  return followRedirects(fetchOnce, request, { redirect, allowedHosts: allowed, signal })
}

describe('within the origin', () => {
  test.each([
    [301, 'GET', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [302, 'PUT', 'PUT'],
    [307, 'POST', 'POST'],
    [308, 'DELETE', 'DELETE'],
  ])('%i makes a %s a %s, as fetch does, with all headers that still fit', async (status, before, after) => {
    const site = web([status, '/b?c'])
    const { response, at } = await follow(site, before)
    expect([response.status, at.method, at.url]).toEqual([200, after, 'https://one.example/b?c'])
    expect(site.asked[1]).toMatchObject({
      method: after,
      headers: expect.arrayContaining(['authorization', 'cookie']),
    })
    expect(at.body === undefined).toBe(after === 'GET')
  })

  test('a caller that asks for redirects gets them', async () => {
    const site = web([302, 'https://two.example/'])
    expect((await follow(site, 'GET', { redirect: 'manual' })).response.status).toBe(302)
    expect(site.asked).toHaveLength(1)
  })

  test('a loop of redirects ends with an error', async () => {
    const site = web(...Array.from({ length: 30 }, (): [number, string] => [302, '/a']))
    await expect(follow(site, 'GET')).rejects.toThrow('redirects more than 20 times')
  })
})

describe('to another origin', () => {
  test.each([
    ['another host', 'https://two.example/', undefined],
    ['another port', 'https://one.example:8443/', undefined],
    ['a host that is not the allowed one', '//two.example:8443', ['two.example']],
    ['no encryption, though the host is allowed', 'http://one.example/', ['one.example']],
  ])('%s is an error that names both', async (_name, location, allowedHosts) => {
    const site = web([307, location])
    await expect(follow(site, 'POST', { ...(allowedHosts && { allowedHosts }) })).rejects.toMatchObject({
      code: 'REDIRECTED',
      message: expect.stringContaining(
        `https://one.example redirects to ${new URL(location, 'https://x').origin}`,
      ),
    })
    expect(site.asked).toHaveLength(1)
  })

  test('an allowed host, and the hosts after it, get the request without anything that could be a credential', async () => {
    const site = web([307, 'https://two.example/b'], [307, '/c'])
    const { at } = await follow(site, 'POST', { allowedHosts: ['two.example'] })
    expect(at.url).toBe('https://two.example/c')
    expect(site.asked.map(({ headers: sent }) => sent)).toEqual([
      Object.keys(headers).sort(),
      ['content-type'],
      ['content-type'],
    ])
  })
})
