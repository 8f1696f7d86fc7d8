import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { X64_BUILD } from './fetch-emulated-anvil.ts'
import { INSTALL_ANVIL, resolveAnvil } from './resolve-anvil.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-anvil-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function put(path: string, text = ''): string {
  const file = join(folder, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
  return file
}

const place = () => ({ from: [join(folder, 'package.json')], path: '', emulated: join(folder, 'emulated') })
const installed = () => put('node_modules/@foundry-rs/anvil/package.json', '{ "name": "@foundry-rs/anvil" }')

test('an anvil that is not installed is reported in one line with the command, on every machine', () => {
  for (const arch of ['x64', 'arm64', 'mips']) {
    expect(() => resolveAnvil({ ...place(), platform: 'linux', arch })).toThrow(
      /^The local chain is not installed\. Install it with: npm install --save-dev --ignore-scripts @foundry-rs\/anvil@1$/,
    )
  }
})

test('an installed one without a build for the machine says what helps there', () => {
  installed()
  expect(() => resolveAnvil({ ...place(), platform: 'linux', arch: 'arm64' })).toThrow(
    /^The local chain has no build for linux-arm64 in this registry\. .*: npx paystile sandbox install$/,
  )
  expect(() => resolveAnvil({ ...place(), platform: 'plan9', arch: 'mips' })).toThrow(
    /^The local chain has no build for plan9-mips in this registry\. Install Foundry .* PATH\.$/,
  )
})

test("npm's build comes first, then one on the PATH, then on ARM the emulated one", () => {
  const emulated = put('emulated')
  const on = { ...place(), platform: 'linux', arch: 'arm64' }
  expect(resolveAnvil(on)).toBe(emulated)
  expect(() => resolveAnvil({ ...on, arch: 'x64' })).toThrow('not installed')

  const byHand = put('bin/anvil')
  put('node_modules/.bin/anvil')
  const path = ['', join(folder, 'absent'), join(folder, 'node_modules/.bin'), join(folder, 'bin')].join(
    delimiter,
  )
  expect(resolveAnvil({ ...on, path })).toBe(byHand)

  installed()
  const own = put('node_modules/@foundry-rs/anvil-linux-arm64/bin/anvil')
  expect(resolveAnvil({ ...on, path })).toBe(own)
})

test('what is installed and emulated is what is locked here, and within the range of the peer', () => {
  const read = (file: string) => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
  const { name, ...build } = X64_BUILD
  expect(read('package-lock.json').packages[`node_modules/${name}`]).toMatchObject(build)
  const [, range] = /@foundry-rs\/anvil@(\d+)$/.exec(INSTALL_ANVIL) ?? []
  expect(read('package.json').peerDependencies['@foundry-rs/anvil']).toMatch(new RegExp(`^\\^${range}\\.`))
})
