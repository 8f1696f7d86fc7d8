import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { freePort } from './world.ts'

const fileOf = (path: string) => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url))
const linesOf = (path: string) => readFileSync(fileOf(path), 'utf8').trimEnd().split('\n').length

describe.each(['express', 'hono', 'fastify'])('examples/%s', (name) => {
  test('is one short file with a README of one screen', () => {
    expect(linesOf(`${name}/server.js`)).toBeLessThan(60)
    expect(linesOf(`${name}/README.md`)).toBeLessThan(45)
  })

  test('runs as published and sells two calls and a plan on a real chain', async () => {
    const run = spawn(process.execPath, [fileOf('try.js'), name], {
      env: { PATH: process.env.PATH ?? '', PORT: String(await freePort()) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, faults, [code]] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'exit')])
    expect(faults).toBe('')
    expect(out).toMatch(/"city":"paris".*\n.*\n.*"text":"hello".*\n.*\n.*"resource":"forecast"/)
    expect(out).toContain('/office shows 3 sales, $0.28 in all.')
    expect(out, 'on chain: 1, 2 and 25 cents').toContain('now has 720000 micro-USDC')
    expect(code).toBe(0)
  })
})
