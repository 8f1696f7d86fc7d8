import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { x402UptoPermit2ProxyABI } from '@x402/evm'
import { type Abi, type AbiFunction, toEventSelector, toFunctionSelector } from 'viem'
import { expect, test } from 'vitest'
import settlerInput from '../../contracts/settler-input.json' with { type: 'json' }
import settler from '../../src/chain/settler.json' with { type: 'json' }
import multicall3 from '../../src/testing/test-multicall3.json' with { type: 'json' }
import permit2 from '../../src/testing/test-permit2.json' with { type: 'json' }
import uptoProxy from '../../src/testing/test-upto-proxy.json' with { type: 'json' }
import usdc from '../../src/testing/test-usdc.json' with { type: 'json' }
import proxy from '../../src/testing/test-usdc-proxy.json' with { type: 'json' }
import wallet from '../../src/testing/test-wallet-1271.json' with { type: 'json' }
import { usdcAbi } from '../../src/testing/usdc-abi.ts'

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

test('the settler contract names the source that it was made from, and nothing else', () => {
  const source = readFileSync(here('../../contracts/PaystileSettler.sol'), 'utf8')
  expect(settlerInput.sources).toEqual({ 'contracts/PaystileSettler.sol': { content: source } })
  // Whoever verifies it may use another compiler setting than we think: the code must say nothing of a file or a comment.
  expect(settler.deployedCode).not.toMatch(/a264697066735822|64736f6c63/)
  expect(settler.deployedCode.length).toBeLessThan(2 + 2 * 400)
})

test.each([
  ['TestUsdc', usdc],
  ['TestUsdcProxy', proxy],
  ['TestWallet1271', wallet],
  ['TestMulticall3', multicall3],
  ['TestPermit2', permit2],
  ['TestUptoProxy', uptoProxy],
])('%s names the source that it was made from', (name, artifact) => {
  const source = readFileSync(here(`${name}.sol`))
  expect(artifact.sourceSha256).toBe(createHash('sha256').update(source).digest('hex'))
  expect(artifact.deployedBytecode).toMatch(/^0x[0-9a-f]{200,}$/)
})

test('TestUsdc has all that the typed interface promises', () => {
  const selectors = (abi: Abi) =>
    abi.flatMap((item) => {
      if (item.type === 'function') return [`${item.stateMutability} ${toFunctionSelector(item)}`]
      return item.type === 'event' ? [toEventSelector(item)] : []
    })
  const compiled = new Set(selectors(usdc.abi as Abi).map((selector) => selector.replace('pure', 'view')))
  expect(selectors(usdcAbi).filter((selector) => !compiled.has(selector))).toEqual([])
})

test('Multicall3 has the selectors of the public one', () => {
  const selectors = (multicall3.abi as Abi).flatMap((item) =>
    item.type === 'function' ? [toFunctionSelector(item)] : [],
  )
  // aggregate, aggregate3, aggregate3Value, tryAggregate, getBlockNumber, getCurrentBlockTimestamp, getEthBalance,
  // getBlockHash, getChainId
  const known = [
    '252dba42',
    '82ad56cb',
    '174dea71',
    'bce38bd7',
    '42cbb15c',
    '0f28c97d',
    '4d2301cc',
    'ee82ac5e',
    '3408e470',
  ]
  expect(selectors).toEqual(expect.arrayContaining(known.map((selector) => `0x${selector}`)))
})

test('TestUptoProxy has the function, the constants and the event that the official client and facilitator know', () => {
  const names = new Set(uptoProxy.abi.map((item) => ('name' in item ? item.name : '')))
  const known = x402UptoPermit2ProxyABI.filter(({ name }) => names.has(name))
  expect(known.map(({ name }) => name).sort()).toEqual([
    'AmountExceedsPermitted',
    'InvalidDestination',
    'InvalidOwner',
    'PERMIT2',
    'PaymentTooEarly',
    'Settled',
    'UnauthorizedFacilitator',
    'WITNESS_TYPEHASH',
    'WITNESS_TYPE_STRING',
    'settle',
  ])
  const settle = (abi: Abi) =>
    toFunctionSelector(abi.find((item) => item.type === 'function' && item.name === 'settle') as AbiFunction)
  expect(settle(uptoProxy.abi as Abi)).toBe(settle(x402UptoPermit2ProxyABI as Abi))
})
