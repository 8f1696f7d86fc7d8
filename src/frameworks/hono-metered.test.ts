import { Hono } from 'hono'
import { expect, test } from 'vitest'
import type { MeteredCharge } from '../transports/http/charged.ts'
import { answerMetered } from './hono-metered.ts'

test('headers of middleware in front stay on a metered answer, except what they say to caches', async () => {
  const paid = async () => new Response('paid', { headers: { 'cache-control': 'no-store, private' } })
  const metered = { finish: paid, response: new Promise(() => {}), maxBytes: 100 } as Partial<MeteredCharge>
  const app = new Hono()
  app.use(async (c, next) => {
    c.header('x-standing', 'before')
    c.header('cdn-cache-control', 'max-age=60')
    await next()
  })
  app.use((c, next) => answerMetered(c, next, metered as MeteredCharge))
  app.get('/', (c) => c.text('sun'))
  const answer = await app.request('/')
  const told = ['cache-control', 'x-standing', 'cdn-cache-control'].map((name) => answer.headers.get(name))
  expect([await answer.text(), ...told]).toEqual(['paid', 'no-store, private', 'before', null])
})
