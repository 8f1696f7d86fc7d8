import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { snippetsOf } from './snippets.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'paystile-snippets-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const NASTY = [
  'plain',
  'two words',
  '$(touch pwned)',
  '`touch pwned`',
  `$HOME \${HOME} $$ $1`,
  'line\nbreak',
  "it's",
  'it\'s $(touch pwned) "and" \\ `more`\n$HOME',
  '"quoted"',
  'back\\slash\\n',
  '# not a comment',
  'a: b, - c, {d}, [e], !f, &g, *h, |, >, %',
  'é ✓ 🐢',
  ';rm -rf .',
  '-e X=Y',
  '=',
]

function shell(script: string): string {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { encoding: 'utf8', cwd: dir })
  expect([stderr, status]).toEqual(['', 0])
  return stdout
}

/** The arguments that a shell would pass to `docker`. */
function dockerArguments(line: string): string[] {
  return shell(`docker() { printf '%s\\0' "$@"; }\n${line}`).split('\0').slice(0, -1)
}

function fromShell(env: string, name: string): string {
  writeFileSync(join(dir, '.env'), env)
  return shell(`set -a; . ./.env; printf '%s' "$${name}"`)
}

const fromCompose = (text: string) => {
  const environment = parse(text).services.paystile.environment as Record<string, string>
  // Compose turns a doubled dollar into one, and would replace a variable after a single dollar.
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => {
      expect(value.replaceAll('$$', '')).not.toContain('$')
      return [name, value.replaceAll('$$', '$')]
    }),
  )
}

describe('snippetsOf', () => {
  test('settings of single networks are in them, without their secrets', () => {
    const stated = {
      SVC_NETWORK: 'base,polygon',
      RPC_URL_137: 'https://rpc.example/hunter2',
      CONFIRMATIONS_137: '3',
    }
    const { env, compose } = snippetsOf(
      { ...stated, GAS_WALLET_PRIVATE_KEY_137_FILE: '/run/key', HOME: '/root' },
      3000,
    )
    expect(parseEnv(env)).toEqual({
      SVC_NETWORK: 'base,polygon',
      RPC_URL_137: '<secret>',
      CONFIRMATIONS_137: '3',
      GAS_WALLET_PRIVATE_KEY_137_FILE: '/run/key',
    })
    expect(fromCompose(compose)).toMatchObject({ CONFIRMATIONS_137: '3' })
  })

  test.each(NASTY)('%j survives a shell, docker, compose and .env', (value) => {
    const { env, dockerRun, compose } = snippetsOf({ AGENT_NAME: value }, 3000)
    expect(dockerArguments(dockerRun)).toContain(`AGENT_NAME=${value}`)
    expect(fromCompose(compose).AGENT_NAME).toBe(value)
    expect(fromShell(env, 'AGENT_NAME')).toBe(value)
    // Node's parser knows no escapes inside double quotes, so it cannot read a value with both kinds of quotes.
    if (!value.includes("'") || !/[\\"$`]/.test(value)) expect(parseEnv(env).AGENT_NAME).toBe(value)
  })

  test('so does any other text', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).map((raw) => raw.replaceAll('\0', '').trim())
    fc.assert(
      fc.property(text, (value) => {
        fc.pre(value !== '' && Buffer.from(value).toString() === value)
        const { env, dockerRun, compose } = snippetsOf({ AGENT_NAME: value }, 3000)
        expect(dockerArguments(dockerRun)).toContain(`AGENT_NAME=${value}`)
        expect(fromCompose(compose).AGENT_NAME).toBe(value)
        expect(fromShell(env, 'AGENT_NAME')).toBe(value)
      }),
      { numRuns: 40 },
    )
  })

  test('a catalog survives as JSON, in every reader', () => {
    const plans = NASTY.map((description, index) => ({
      planId: `p${index}`,
      unitAmount: '$1.00',
      description,
    }))
    const { env, dockerRun, compose } = snippetsOf({ PLANS: JSON.stringify(plans) }, 3000)
    const line = dockerArguments(dockerRun).find((argument) => argument.startsWith('PLANS='))!
    expect(JSON.parse(line.slice('PLANS='.length))).toEqual(plans)
    expect(JSON.parse(fromCompose(compose).PLANS!)).toEqual(plans)
    expect(JSON.parse(fromShell(env, 'PLANS'))).toEqual(plans)
    expect(JSON.parse(parseEnv(env).PLANS!)).toEqual(plans)
  })

  test('secrets are placeholders, or the file that holds them', () => {
    const snippets = snippetsOf({ TOKEN_SECRET: 'hunter2', SVC_SECRET_KEY_FILE: '/run/secrets/key' }, 8080)
    expect(JSON.stringify(snippets)).not.toContain('hunter2')
    expect(fromCompose(snippets.compose)).toEqual({
      PORT: '8080',
      DATA_DIR: '/data',
      TOKEN_SECRET: '<secret>',
      SVC_SECRET_KEY_FILE: '/run/secrets/key',
    })
    expect(dockerArguments(snippets.dockerRun)).toEqual(
      expect.arrayContaining(['8080:8080', 'TOKEN_SECRET=<secret>', 'paystile-data:/data']),
    )
  })
})
