import { expect, test } from 'vitest'
import { misspeltVariables } from './misspelt-variables.ts'

test.each([
  ['REFUND_WALLET_PRIVTE_KEY', 'REFUND_WALLET_PRIVATE_KEY'],
  ['ADMIN_TOEKN', 'ADMIN_TOKEN'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['PLAN', 'PLANS'],
  ['TOKEN_SECRET_FIEL', 'TOKEN_SECRET_FILE'],
  ['SVC_WALLET_ADRES', 'SVC_WALLET_ADDRESS'],
  ['RPC_URL_POLYGON', 'RPC_URL_137'],
  ['GAS_WALLET_PRIVATE_KEY_BASE_SEPOLIA', 'GAS_WALLET_PRIVATE_KEY_84532'],
  ['RPC_ULR_137', 'RPC_URL_137'],
])('%s is told as %s, without its value', (name, meant) => {
  const lines = misspeltVariables({ [name]: 'a secret', PATH: '/bin' })
  expect(lines).toEqual([`${name} is set, and nothing reads it; did you mean ${meant}?`])
})

test('an unknown variable with our prefix is reported even if no known one is similar', () => {
  expect(misspeltVariables({ SVC_FLAVOUR: 'red' })).toEqual(['SVC_FLAVOUR is set, and nothing reads it.'])
})

test('variables that are right, blank, of other programs, or set beside the right one are not reported', () => {
  const foreign = {
    ...{
      PATH: '/bin',
      HOME: '/root',
      PWD: '/',
      LANG: 'C',
      TERM: 'x',
      USER: 'me',
      HOSTNAME: 'h',
      EDITOR: 'vi',
    },
    ...{
      AWS_SECRET_ACCESS_KEY: 'x',
      GITHUB_TOKEN: 'x',
      NPM_TOKEN: 'x',
      NODE_ENV: 'production',
      npm_config_port: '1',
    },
    ...{
      REDIS_PORT: 'tcp://10.0.0.1:6379',
      REDIS_SERVICE_HOST: '10.0.0.1',
      POSTGRES_HOST: 'db',
      API_BASE_URL: 'x',
    },
    ...{
      PAYSTILE_PORT_3000_TCP: 'tcp://10.0.0.2:3000',
      KUBERNETES_PORT: 'x',
      LOG_FORMAT: 'json',
      SITE_URL: 'x',
    },
  }
  const right = { PLANS: '[]', PORT: '3000', TOKEN_SECRET_FILE: '/run/secret', RPC_URL_137_FILE: '/run/rpc' }
  const beside = { DATABASE_URI: 'x', DATABASE_URL: 'x', ADMIN_TOKN: ' ' }
  expect(misspeltVariables({ ...foreign, ...right, ...beside })).toEqual([])
})
