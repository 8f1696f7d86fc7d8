import { describe, expect, test } from 'vitest'
import { candidateOf } from './candidate.ts'

const saved = { AGENT_NAME: 'old', PROVIDER_NAME: 'old', TOKEN_SECRET: 'kept', RPC_URL: 'kept' }

describe('candidateOf', () => {
  test('values are replaced as a whole, secrets one by one', () => {
    const body = { values: { AGENT_NAME: 'new', PLANS: [1] }, secrets: { RPC_URL: null, PROXY_SECRET: 'p' } }
    expect(candidateOf(body, {}, saved)).toEqual({
      values: { AGENT_NAME: 'new', PLANS: [1], TOKEN_SECRET: 'kept', PROXY_SECRET: 'p' },
      faults: [],
    })
  })

  test('settings of single networks are saved and kept as those of all networks are', () => {
    const before = { SVC_WALLET_ADDRESS_137: 'old', RPC_URL_137: 'kept', RPC_URL_1: 'old' }
    const body = { values: { FACILITATOR_URL_137: 'https://f.example' }, secrets: { RPC_URL_1: null } }
    expect(candidateOf(body, {}, before)).toEqual({
      values: { FACILITATOR_URL_137: 'https://f.example', RPC_URL_137: 'kept' },
      faults: [],
    })
  })

  test('values that the environment sets are neither changed nor removed', () => {
    const env = { AGENT_NAME: 'env', TOKEN_SECRET_FILE: '/x' }
    const body = {
      values: { AGENT_NAME: 'env', DATA_DIR: '/data' },
      secrets: { TOKEN_SECRET: null, RPC_URL: 'new' },
    }
    expect(candidateOf(body, env, saved)).toEqual({
      values: { AGENT_NAME: 'old', TOKEN_SECRET: 'kept', RPC_URL: 'new' },
      faults: [],
    })
  })

  test('a blank value counts as not set', () => {
    const body = { values: { AGENT_NAME: ' ', PLANS: [], ROUTES: null }, secrets: { TOKEN_SECRET: '' } }
    expect(candidateOf(body, {}, {})).toEqual({ values: {}, faults: [] })
  })

  test.each([
    [{ values: [] }, null, 'values must be an object'],
    [{ secrets: 'x' }, null, 'secrets must be an object'],
    [{ values: { PLAN: [], AGENT_NAMES: 'x' } }, null, 'did you mean "AGENT_NAME"'],
    [{ values: { AGENT_NAME: 5 } }, 'AGENT_NAME', 'is a number; it must be a text'],
    [{ values: { PLANS: '[{}]' } }, 'PLANS', 'must be a list'],
    [{ values: { TOKEN_SECRET: 'hunter2' } }, 'TOKEN_SECRET', 'is a secret'],
    [{ secrets: { AGENT_NAME: 'hunter2' } }, 'AGENT_NAME', 'is no secret'],
    [{ values: { PORT: '80' } }, null, 'PORT is not a setting that can be saved'],
    [JSON.parse('{"values":{"__proto__":"x"}}'), null, '__proto__ is not a setting'],
    [{ values: { constructor: 'x' } }, null, 'constructor is not a setting'],
    [{ secrets: { toString: 'x' } }, null, 'toString is not a setting'],
  ])('%j is a fault of %s', (body, name, message) => {
    const { values, faults } = candidateOf(body, {}, {})
    expect(values).toEqual({})
    expect(faults).toEqual([{ name, message: expect.stringContaining(message) }])
    expect(JSON.stringify(faults)).not.toContain('hunter2')
  })
})
