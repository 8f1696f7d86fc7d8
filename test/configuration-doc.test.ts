import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { optionsFromEnv, VARIABLES } from '../src/config/from-env.ts'
import { NETWORK_VARIABLES } from '../src/config/network-variables.ts'
import { OPTION_NAMES } from '../src/config/options.ts'
import { resolveConfig } from '../src/config/resolve-config.ts'
import { SERVER_VARIABLES } from '../src/config/server-variables.ts'
import { NETWORKS } from '../src/protocol/networks.ts'

const text = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8')
const rows = text.split('\n').flatMap((line) => {
  const match = /^\| +(?:`([A-Z0-9_]+)`|–) +\| +(?:`([A-Za-z0-9]+)`|–) +\|/.exec(line)
  return match ? [{ variable: match[1], option: match[2] }] : []
})

test('docs/configuration.md names exactly the variables that are read, with their options', () => {
  const documented = rows.filter((row) => row.variable)
  const coded = Object.entries(VARIABLES).map(([variable, { option }]) => ({ variable, option }))
  const byName = (a: { variable?: string }, b: { variable?: string }) => (a.variable! < b.variable! ? -1 : 1)
  expect(documented.sort(byName)).toEqual(coded.sort(byName))
})

test('docs/configuration.md names every option', () => {
  for (const option of OPTION_NAMES) expect(text, option).toMatch(new RegExp(`\`${option}[\`(]`))
})

test("docs/configuration.md names exactly the server's own variables, and which of them can be saved", () => {
  const documented = [...text.matchAll(/^\| `([A-Z0-9_]+)` \| (yes|no) \|/gm)].map(([, name, saved]) => [
    name,
    { saved: saved === 'yes' },
  ])
  expect(Object.fromEntries(documented)).toEqual(SERVER_VARIABLES)
})

test('docs/configuration.md lists the known networks, with their token and whether a facilitator is known', () => {
  const listed = [
    ...text.matchAll(/^\| (`[^|]+) \| `(eip155:\d+)` \| ([^|]+) \| `(0x[0-9a-f]{40})` \| ([^|]+) \|$/gm),
  ]
  const expected = NETWORKS.map(({ word, aliases, id, name, testnet, token, facilitatorUrl }) => [
    [word, ...aliases].map((known) => `\`${known}\``).join(', '),
    id,
    `${name}${testnet ? ' (test money)' : ''}`,
    token.address,
    facilitatorUrl !== null,
  ])
  expect(
    listed.map(([, words, id, name, usdc, facilitator]) => [words, id, name, usdc, facilitator !== '–']),
  ).toEqual(expected)
})

test('docs/configuration.md names every setting of a single network', () => {
  const documented = [...text.matchAll(/^\| `([A-Z_]+)_<chainId>` \| `(\w+)` \|/gm)].map(
    ([, name, option]) => [option, name],
  )
  const coded = Object.entries(NETWORK_VARIABLES).map(([option, { variable }]) => [option, variable])
  expect(documented.sort()).toEqual(coded.sort())
})

test("README's example of the standalone server starts, once it has a wallet", () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [command] = /^SVC_WALLET_ADDRESS=[^`]*npm run serve/m.exec(readme)!
  const env = Object.fromEntries(
    [...command.matchAll(/([A-Z_]+)=('[^']*'|\$\([^)]*\)|\S+)/g)].map(([, name, value]) => [
      name!,
      value!
        .replace(/^'|'$/g, '')
        .replace(/^\$\(.*\)$/, 'x'.repeat(64))
        .replace('0x…', `0x${'1'.repeat(40)}`),
    ]),
  )
  const { options, source } = optionsFromEnv(env, () => '')
  expect(resolveConfig(options, source).guardedPath).toBe('/resource/{resourceId}')
})
