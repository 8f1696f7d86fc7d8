import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { overSaved, readConfigFile, SAVED_NAMES, writeConfigFile } from './config-file.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'paystile-config-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const path = () => join(dir, 'config.json')
const hostile = { AGENT_NAME: 'a\n$(touch /tmp/x) "`\'', PLANS: [{ planId: 'a', unitAmount: '$1.00' }] }

describe('the saved file', () => {
  test('values are read as they were written', () => {
    writeConfigFile(join(dir, 'new'), hostile)
    expect(readConfigFile(join(dir, 'new'))).toEqual({ values: hostile, faults: [] })
  })

  test('only its owner may read it, even if the old file was open to all, and no temporary file is left', () => {
    writeFileSync(path(), '{}', { mode: 0o644 })
    chmodSync(path(), 0o644)
    writeConfigFile(dir, hostile)
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir)).toEqual(['config.json'])
  })

  test('if it cannot be written, the old file stays and no temporary file is left', () => {
    writeConfigFile(dir, hostile)
    const before = readFileSync(path(), 'utf8')
    expect(() => writeConfigFile(dir, { AGENT_NAME: 1n as unknown as string })).toThrow()
    expect(readFileSync(path(), 'utf8')).toBe(before)
    expect(readdirSync(dir)).toEqual(['config.json'])
  })

  test('a missing file is not a fault', () => {
    expect(readConfigFile(join(dir, 'absent'))).toEqual({ values: {}, faults: [] })
  })

  test.each([
    ['{"version": 1,\n"values": {"TOKEN_SECRET": "hunter2" x}}', 'is no valid JSON at line 2, column 38'],
    ['', 'is no valid JSON at line 1, column 1'],
    ['[]', 'has version missing; this program reads 1'],
    ['{"version": 2, "values": {}}', 'has version 2'],
    ['{"version": 1, "values": []}', 'has a list as values'],
    ['{"version": 1, "values": {"AGENT_NAMES": "x"}}', 'AGENT_NAMES in .* did you mean "AGENT_NAME"'],
    ['{"version": 1, "values": {"DATA_DIR": "x"}}', 'DATA_DIR in .* is not a setting that can be saved'],
    ['{"version": 1, "values": {"CONFIRMATIONS": 3}}', 'CONFIRMATIONS in .* is a number; it must be a text'],
    ['{"version": 1, "values": {"PLANS": "[]"}}', 'PLANS in .* is a text; it must be a list'],
  ])('%s is one fault, which shows nothing of it', (text, fault) => {
    writeFileSync(path(), text)
    const { faults } = readConfigFile(dir)
    expect(faults).toEqual([expect.stringMatching(fault)])
    expect(faults.join()).not.toContain('hunter2')
  })

  test('an invalid value does not affect the others', () => {
    writeFileSync(path(), '{"version": 1, "values": {"AGENT_NAME": "x", "CONFIRMATIONS": 3}}')
    expect(readConfigFile(dir).values).toEqual({ AGENT_NAME: 'x' })
  })

  test('the environment wins, with the variable or its NAME_FILE', () => {
    const saved = { AGENT_NAME: 'saved', TOKEN_SECRET: 'saved', PROVIDER_NAME: 'saved', PLANS: [] }
    expect(overSaved({ AGENT_NAME: 'env', TOKEN_SECRET_FILE: '/x', PROVIDER_NAME: ' ' }, saved)).toEqual({
      AGENT_NAME: 'env',
      TOKEN_SECRET_FILE: '/x',
      PROVIDER_NAME: 'saved',
      PLANS: '[]',
    })
  })

  test('ports and folders cannot be saved', () => {
    for (const name of ['PORT', 'METRICS_PORT', 'DATA_DIR', 'SVC_MANAGED_INFRA']) {
      expect(SAVED_NAMES).not.toContain(name)
    }
  })
})
