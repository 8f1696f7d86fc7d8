import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cli } from '../../test/e2e/cli-terminal.ts'
import { parseSecretKeys } from '../delivery/secret-keys.ts'
import { rsaKeys } from '../delivery/token-keys.ts'

const OLD = 'a'.repeat(64)
let folder: string
let env: Record<string, string>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-keys-'))
  env = { DATA_DIR: join(folder, 'data') }
  mkdirSync(env.DATA_DIR!)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const rsaPem = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()

test('the generated secret is rotated in its file; the old one stays behind the new, and neither is shown', async () => {
  const file = join(env.DATA_DIR!, 'secret-key')
  writeFileSync(file, `${OLD}\n`, { mode: 0o600 })
  const rotated = await cli(env, 'keys', 'rotate', 'SVC_SECRET_KEY')
  expect(rotated, rotated.errors).toMatchObject({ code: 0 })
  const [first, second, ...more] = readFileSync(file, 'utf8').trim().split(',')
  expect(first).toMatch(/^[0-9a-f]{64}$/)
  expect([second, ...more]).toEqual([OLD])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const listed = await cli(env, 'keys', 'list', '--json')
  const [newest, older] = parseSecretKeys(`${first},${OLD}`).sealing.map(({ id }) => id)
  expect(JSON.parse(listed.output).keys).toMatchObject([
    { name: 'SVC_SECRET_KEY', place: file, ids: [newest, older] },
  ])
  const shown = await cli(env, 'keys', 'list')
  for (const secret of [first!, OLD])
    expect(rotated.output + shown.output + listed.output).not.toContain(secret)
})

test('a saved RSA key is rotated in config.json: the new one signs, and of the old one the public half stays', async () => {
  const pem = rsaPem()
  const values = { TOKEN_PRIVATE_KEY: pem, AGENT_NAME: 'Shop' }
  writeFileSync(join(env.DATA_DIR!, 'config.json'), JSON.stringify({ version: 1, values }))
  const rotated = await cli(env, 'keys', 'rotate', 'TOKEN_PRIVATE_KEY')
  expect(rotated, rotated.errors).toMatchObject({ code: 0 })
  expect(rotated.output).not.toContain('PRIVATE KEY-')
  const after = JSON.parse(readFileSync(join(env.DATA_DIR!, 'config.json'), 'utf8')).values
  expect(after.AGENT_NAME).toBe('Shop')
  expect(after.TOKEN_PRIVATE_KEY.match(/BEGIN PRIVATE KEY/g)).toHaveLength(1)
  const [before, now] = [rsaKeys(pem), rsaKeys(after.TOKEN_PRIVATE_KEY)].map((keys) =>
    keys.alg === 'RS256' ? keys.keys.map(({ kid }) => kid) : [],
  )
  expect(now).toHaveLength(2)
  expect(now![1]).toBe(before![0])
})

test('a key in one line, with \\n for its line breaks, is read as the server reads it', async () => {
  const pem = rsaPem()
  const oneLine = pem.trim().replaceAll('\n', '\\n')
  const ids = async (given: Record<string, string>) => {
    const listed = await cli(given, 'keys', 'list', '--json')
    expect(listed, listed.errors).toMatchObject({ code: 0 })
    return JSON.parse(listed.output).keys[0].ids
  }
  const expected = await ids({ ...env, TOKEN_PRIVATE_KEY: pem })
  expect(await ids({ ...env, TOKEN_PRIVATE_KEY: oneLine })).toEqual(expected)
  const values = { TOKEN_PRIVATE_KEY: oneLine }
  writeFileSync(join(env.DATA_DIR!, 'config.json'), JSON.stringify({ version: 1, values }))
  expect(await ids(env)).toEqual(expected)
  const rotated = await cli(env, 'keys', 'rotate', 'TOKEN_PRIVATE_KEY')
  expect(rotated, rotated.errors).toMatchObject({ code: 0 })
  expect((await ids(env))[1]).toBe(expected[0])
})

test('a key that cannot be read is named, and nothing is rotated', async () => {
  const given = { ...env, TOKEN_PRIVATE_KEY: rsaPem().replace('M', '*') }
  const { errors } = await cli(given, 'keys', 'rotate', 'TOKEN_PRIVATE_KEY', '--print')
  expect(errors).toMatch(/^TOKEN_PRIVATE_KEY \(key 1\) cannot be read as a PEM key/)
})

test('what comes from the environment is written to a file or shown, only if asked', async () => {
  const given = { ...env, SVC_SECRET_KEY: OLD }
  const refused = await cli(given, 'keys', 'rotate', 'SVC_SECRET_KEY')
  expect(refused.errors).toMatch(
    /comes from the environment, .*add --out FILE \(for SVC_SECRET_KEY_FILE\) or --print/,
  )
  const out = join(folder, 'new-key')
  const written = await cli(given, 'keys', 'rotate', 'SVC_SECRET_KEY', '--out', out)
  expect(written.output).toContain('Set SVC_SECRET_KEY_FILE to it in place of the environment')
  expect(statSync(out).mode & 0o777).toBe(0o600)
  expect(readFileSync(out, 'utf8').trim().split(',')[1]).toBe(OLD)
  expect((await cli(given, 'keys', 'rotate', 'SVC_SECRET_KEY', '--out', out)).errors).toMatch(/not taken/)
  const printed = await cli(given, 'keys', 'rotate', 'SVC_SECRET_KEY', '--print')
  expect(printed.output).toMatch(new RegExp(`^SVC_SECRET_KEY=[0-9a-f]{64},${OLD}\\n$`))
})

test('a name that cannot be rotated is one clear line', async () => {
  const errorsOf = async (name: string) => (await cli(env, 'keys', 'rotate', name)).errors
  expect(await errorsOf('ADMIN_TOKEM')).toMatch(/ADMIN_TOKEM cannot be rotated.*ADMIN_TOKEN/)
  expect(await errorsOf('ADMIN_TOKEN')).toBe('ADMIN_TOKEN is not set, so there is nothing to rotate.\n')
  expect(await errorsOf('GAS_WALLET_PRIVATE_KEY')).toMatch(/is a wallet, which is not rotated but replaced/)
})
