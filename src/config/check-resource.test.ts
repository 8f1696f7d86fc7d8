import { describe, expect, test } from 'vitest'
import { optionsFromEnv } from './from-env.ts'
import { checkConfig } from './resolve-config.ts'

const plans = [{ planId: 'basic', unitAmount: '$1.00' }]
const options = {
  walletAddress: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
  plans,
  tokenSecret: 'a shared secret of more than thirty-two bytes',
}
const env = {
  SVC_WALLET_ADDRESS: options.walletAddress,
  PLANS: JSON.stringify(plans),
  TOKEN_SECRET: options.tokenSecret,
  BASE_URL: 'https://pay.example.com/shop',
}
const api = { TOKEN_SECRET: '', ISSUE_TOKEN_API: 'https://api.example.com/issue' }
const backend = { PROXY_TO_BASE_URL: 'http://localhost:8080' }
const elsewhere = { RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}' }
const here = { RESOURCE_ENDPOINT: 'https://pay.example.com/shop/data/{resourceId}' }

function linesOf(variables: Record<string, string>) {
  const read = optionsFromEnv({ ...env, ...variables }, () => '')
  const { faults, missing } = checkConfig(read.options, read.source)
  return { faults, missing }
}
const NOTHING = { faults: [], missing: [] }

describe('the standalone server sells a plan only if its tokens can be used somewhere', () => {
  test.each<[string, Record<string, string>]>([
    ['its own server', elsewhere],
    ['its own server, and tokens of its own', { ...api, ...elsewhere }],
    [
      'its own server on the same host, beside the gateway',
      { RESOURCE_ENDPOINT: 'https://pay.example.com/v1' },
    ],
    ['a backend behind the guard', backend],
    ['a backend behind the guard, at another path', { ...backend, ...here }],
    [
      'routes alone sell no tokens',
      {
        ...backend,
        PLANS: '',
        ROUTES: '[{"routeId":"r","method":"GET","path":"/r","unitAmount":"$0.01"}]',
      },
    ],
  ])('%s', (_name, variables) => {
    expect(linesOf(variables)).toEqual(NOTHING)
  })

  test.each<[string, Record<string, string>, string]>([
    ['nobody', {}, 'RESOURCE_ENDPOINT or PROXY_TO_BASE_URL is missing; plans need somebody who answers'],
    ['nobody, while the credential is missing too', { TOKEN_SECRET: '' }, 'RESOURCE_ENDPOINT or PROXY_TO_'],
    [
      'nobody, for tokens of its own',
      api,
      'RESOURCE_ENDPOINT is missing; it says where tokens of ISSUE_TOKEN_API',
    ],
    [
      'a backend, for tokens that the guard cannot check',
      { ...api, ...backend },
      'RESOURCE_ENDPOINT is missing',
    ],
  ])('missing: %s', (_name, variables, line) => {
    const { faults, missing } = linesOf(variables)
    expect(faults).toEqual([])
    expect(missing.at(-1)).toContain(line)
    expect(missing.at(-1)).toContain('for example RESOURCE_ENDPOINT=https://')
  })

  test.each<[string, Record<string, string>, string]>([
    ['without a backend', here, 'Set PROXY_TO_BASE_URL, or give the address of your own server'],
    ['with tokens of its own', { ...api, ...here }, 'it cannot check tokens of ISSUE_TOKEN_API'],
    ['with tokens of its own and a backend', { ...api, ...backend, ...here }, 'it cannot check tokens'],
  ])('an address of the gateway itself is a fault %s', (_name, variables, mend) => {
    const { faults, missing } = linesOf(variables)
    expect(missing).toEqual([])
    expect(faults).toEqual([expect.stringContaining('RESOURCE_ENDPOINT leads to this server, which would')])
    expect(faults[0]).toContain(mend)
  })

  test('a fault that is reported already is not reported twice', () => {
    expect(linesOf({ PROXY_TO_BASE_URL: 'nonsense' }).missing).toEqual([])
    expect(linesOf({ PLANS: '[{"planId":"a"}]' }).missing).toEqual([])
    for (const [variables, line] of [
      [{ TOKEN_SECRET: 'abc' }, 'TOKEN_SECRET has 3 bytes'],
      [{ TOKEN_SECRET: '' }, 'TOKEN_SECRET'],
      [{ TOKEN_SECRET: '', TOKEN_PRIVATE_KEY: 'no key' }, 'TOKEN_PRIVATE_KEY'],
    ] as const) {
      for (const where of [{}, here]) {
        const { faults, missing } = linesOf({ ...backend, ...where, ...variables })
        expect([...missing, ...faults]).toEqual([expect.stringContaining(line)])
      }
    }
    expect(linesOf({ RESOURCE_ENDPOINT: 'nonsense' })).toMatchObject({
      faults: [expect.stringContaining('RESOURCE_ENDPOINT is not a URL')],
      missing: [],
    })
  })

  test('an embedding server may have handlers of its own', () => {
    expect(checkConfig(options)).toMatchObject(NOTHING)
  })
})
