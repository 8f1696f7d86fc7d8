import { describe, expect, test } from 'vitest'
import { optionsFromEnv } from './from-env.ts'
import type { GatewayOptions } from './options.ts'
import { resolveConfig } from './resolve-config.ts'

const options = {
  walletAddress: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'a shared secret of more than thirty-two bytes',
}
const env = {
  SVC_WALLET_ADDRESS: options.walletAddress,
  PLANS: JSON.stringify(options.plans),
  TOKEN_SECRET: options.tokenSecret,
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}

describe('MCP is off unless it is switched on', () => {
  test.each<[GatewayOptions['mcp'], unknown]>([
    [undefined, null],
    [false, null],
    [true, { routes: false }],
    [{}, { routes: false }],
    [{ routes: false }, { routes: false }],
    [{ routes: true }, { routes: true }],
  ])('mcp: %j', (mcp, resolved) => {
    expect(resolveConfig({ ...options, ...(mcp !== undefined && { mcp }) }).mcp).toEqual(resolved)
  })

  test.each([
    [{}, null],
    [{ MCP_ENABLED: 'true' }, { routes: false }],
    [{ MCP_ROUTES: 'true' }, { routes: true }],
    [{ MCP_ROUTES: 'false' }, null],
    [{ MCP_ENABLED: 'false', MCP_ROUTES: 'true' }, null],
    [{ MCP_ENABLED: 'true', MCP_ROUTES: 'true' }, { routes: true }],
  ])('%j', (variables, resolved) => {
    const read = optionsFromEnv({ ...env, ...variables }, () => '')
    expect(resolveConfig(read.options, read.source).mcp).toEqual(resolved)
  })
})
