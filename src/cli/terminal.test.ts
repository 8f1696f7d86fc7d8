import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { findingLine, type Report, type Terminal, tell } from './terminal.ts'

const HOSTILE = 'x\u001b[2J\u001b]0;owned\u0007\r\u009b8m\u202e'
const SEEN = 'x\\u001b[2J\\u001b]0;owned\\u0007\\u000d\\u009b8m\\u202e'

async function told(json: boolean, run: () => Promise<Report>): Promise<{ out: string; errors: string }> {
  const [output, errors] = [new PassThrough(), new PassThrough()]
  const terminal = {
    env: {},
    input: process.stdin,
    output: Object.assign(output, { isTTY: true }),
    errors: Object.assign(errors, { isTTY: true }),
  } as unknown as Terminal
  await tell(terminal, json, run)
  return { out: String(output.read() ?? ''), errors: String(errors.read() ?? '') }
}

test('text of buyers and backends is shown as visible characters, on its own line', async () => {
  const finding = { name: 'RPC_URL', level: 'warn' as const, message: `${HOSTILE}\nok  fake`, fix: HOSTILE }
  const { out } = await told(false, async () => ({
    lines: [findingLine(finding, 7), `since ${HOSTILE}`],
    json: {},
  }))
  const [first, second] = out.split('\n')
  expect(first).toContain(`RPC_URL  ${SEEN}\\u000aok  fake → ${SEEN}`)
  expect(second).toBe(`since ${SEEN}`)
  // The only control sequence left is the colour of the level.
  expect(stripVTControlCharacters(out).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
})

test('errors are shown in the same way, and JSON output keeps its meaning', async () => {
  const { errors } = await told(false, () => Promise.reject(new ConfigError([`bad ${HOSTILE}`])))
  expect(errors).toBe(`bad ${SEEN}\n`)
  const { out } = await told(true, async () => ({ lines: [], json: { text: HOSTILE } }))
  expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}|[\u202a-\u202e]/u)
  expect(JSON.parse(out)).toEqual({ text: HOSTILE })
})
