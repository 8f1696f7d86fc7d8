import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { afterEach, describe, expect, test } from 'vitest'
import { settledCalls } from '../../test/transports/sample-calls.ts'
import { payPerRequest } from './express.ts'

const express4 = createRequire(import.meta.url)('express4') as typeof express
const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const HANDLERS: Array<[string, number, RequestHandler]> = [
  [
    'throws after its answer',
    200,
    (_req, res) => {
      res.json({ sky: 'clear' })
      throw new Error('a bug')
    },
  ],
  [
    'forgets to return, and answers 404 as well',
    200,
    (_req, res) => {
      res.json({ sky: 'clear' })
      res.status(404).json({ error: 'none' })
    },
  ],
  [
    'forgets to return after a 404',
    404,
    (_req, res) => {
      res.status(404).json({ error: 'none' })
      res.status(200).json({ sky: 'clear' })
    },
  ],
]

describe.each([
  ['5', express],
  ['4', express4],
])('Express %s: the status that went out counts where a handler', (_version, make) => {
  test.each(HANDLERS)('%s: %i', async (_how, status, handler) => {
    const { gateway, finished } = settledCalls('paid')
    const app = make().set('env', 'test')
    app.get('/weather', payPerRequest(gateway, 'weather'), handler)
    app.use(((_error, _req, res, _next) => void res.status(500).json({})) as ErrorRequestHandler)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    cleanups.push(() => server.close().closeAllConnections())
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`)
    expect([answer.status, answer.headers.get('x-told')]).toEqual([
      status,
      status === 200 ? 'earned' : 'goes back',
    ])
    await expect.poll(() => finished).toEqual([status])
  })
})
