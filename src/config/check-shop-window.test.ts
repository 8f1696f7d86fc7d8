import { expect, test } from 'vitest'
import { optionsFromEnv } from './from-env.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig, resolveConfig } from './resolve-config.ts'

const base: GatewayOptions = {
  walletAddress: `0x${'11'.repeat(20)}`,
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'a shared secret of more than thirty-two bytes',
  agentName: 'Weather',
}
const shown = (shopWindow: GatewayOptions['shopWindow']) => resolveConfig({ ...base, shopWindow }).shopWindow
const env = (more: Record<string, string>) => {
  const { options, source } = optionsFromEnv(
    {
      SVC_WALLET_ADDRESS: base.walletAddress!,
      PLANS: JSON.stringify(base.plans),
      TOKEN_SECRET: base.tokenSecret!,
      RESOURCE_ENDPOINT: 'https://api.example.com/{resourceId}',
      ...more,
    },
    () => '',
  )
  return checkConfig(options, source)
}

test('the pages for people are on, under the agent’s name, and can be switched off', () => {
  expect(shown(undefined)).toEqual({ name: 'Weather', logoUrl: null, color: null })
  expect(shown(true)).toEqual({ name: 'Weather', logoUrl: null, color: null })
  expect(shown(false)).toBeNull()
  expect(env({ SHOP_WINDOW: 'off' }).config?.shopWindow).toBeNull()
  expect(env({ SHOP_WINDOW: 'off', SHOP_NAME: 'Acme' }).config?.shopWindow).toBeNull()
  expect(env({ SHOP_WINDOW: 'on' }).config?.shopWindow).toMatchObject({ name: 'paystile' })
})

test('name, logo and color are the seller’s', () => {
  const logoUrl = 'https://acme.example/logo.svg'
  const color = '#AABBCC'
  expect(shown({ name: ' Acme & Sons ', logoUrl, color })).toEqual({
    ...{ name: 'Acme & Sons', logoUrl, color: '#aabbcc' },
  })
  expect(shown({ logoUrl: '/logo.svg' })?.logoUrl).toBe('/logo.svg')
  const said = { SHOP_NAME: 'Acme', SHOP_LOGO_URL: logoUrl, SHOP_COLOR: '#000000' }
  expect(env(said).config?.shopWindow).toEqual({ name: 'Acme', logoUrl, color: '#000000' })
})

const LOGO = 'give the https address of an image, or its path on this host'
const LOGO_EXAMPLE = 'for example SHOP_LOGO_URL=https://acme.example/logo.svg'
test.each([
  [
    'SHOP_NAME',
    '<b>Acme</b>',
    'has HTML in it; give the name as plain text, for example SHOP_NAME=Acme Weather',
  ],
  [
    'SHOP_NAME',
    'Acme\nWeather',
    'has a line break or another control character; give the name in one line, for example SHOP_NAME=Acme Weather',
  ],
  [
    'SHOP_NAME',
    'x'.repeat(81),
    'has 81 characters; give a name of at most 80, for example SHOP_NAME=Acme Weather',
  ],
  ['SHOP_LOGO_URL', '<img src=x>', `is not the address of an image; ${LOGO}, ${LOGO_EXAMPLE}`],
  ['SHOP_LOGO_URL', '//elsewhere.example/logo.svg', `is not a URL; ${LOGO}, ${LOGO_EXAMPLE}`],
  [
    'SHOP_LOGO_URL',
    'javascript:alert(1)',
    `begins with javascript:; it must be an http or https URL; ${LOGO}, ${LOGO_EXAMPLE}`,
  ],
  ['SHOP_LOGO_URL', 'http://acme.example/logo.svg', `begins with http:; ${LOGO}, ${LOGO_EXAMPLE}`],
  [
    'SHOP_LOGO_URL',
    'https://user:secret@acme.example/l.svg',
    `carries a user name or password; take it out; ${LOGO}, ${LOGO_EXAMPLE}`,
  ],
  [
    'SHOP_COLOR',
    'red;}',
    'is not a color; give # and six hexadecimal digits, for example SHOP_COLOR=#0b57b0',
  ],
  ['SHOP_WINDOW', 'maybe', 'is "maybe"; it must be true or false, for example SHOP_WINDOW=true'],
])('%s=%s is one clear fault', (name, value, fault) => {
  expect(env({ [name]: value }).faults).toEqual([`${name} ${fault}`])
})

test('what untyped code gives is named', () => {
  const faults = (shopWindow: unknown) => checkConfig({ ...base, shopWindow } as GatewayOptions).faults
  expect(faults('yes')).toEqual([
    'shopWindow is a text; it must be true, false, or an object with name, logoUrl, color, for example shopWindow: true',
  ])
  expect(faults({ logo: 'x' })).toEqual([
    'shopWindow.logo is not an option; shopWindow has name, logoUrl, color.',
  ])
  expect(faults({ name: 7 })).toEqual([
    'shopWindow.name is a number; it must be a text, for example shopWindow.name: "Acme Weather"',
  ])
  expect(faults({ color: '#12' })).toEqual([
    'shopWindow.color is not a color; give # and six hexadecimal digits, for example shopWindow.color: "#0b57b0"',
  ])
})
