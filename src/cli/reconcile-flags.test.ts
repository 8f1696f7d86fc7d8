import { expect, test } from 'vitest'
import type { NetworkConfig } from '../config/resolved-config.ts'
import { ConfigError } from '../errors.ts'
import { findNetwork } from '../protocol/networks.ts'
import { checkFromBlock, chooseNetworks, firstBlocks } from './reconcile-flags.ts'

const on = (word: string) => ({ network: findNetwork(word)! }) as NetworkConfig
const both = [on('base'), on('polygon')]
const faultsOf = (run: () => unknown): readonly string[] => {
  try {
    run()
    return []
  } catch (error) {
    return (error as ConfigError).faults
  }
}

test('all networks are compared, or the one that is named by word, alias or id', () => {
  expect(chooseNetworks(both, undefined)).toEqual(both)
  for (const name of ['base', 'mainnet', 'eip155:8453']) expect(chooseNetworks(both, name)).toEqual([both[0]])
  expect(faultsOf(() => chooseNetworks(both, 'polygone'))).toEqual([
    '--network is "polygone"; it can be base or polygon; did you mean "polygon"?',
  ])
})

test('a block belongs to the only network, or to those that it names', () => {
  expect([...firstBlocks([both[0]!], '7')]).toEqual([['eip155:8453', 7]])
  expect([...firstBlocks(both, 'polygon=8,mainnet=9')]).toEqual([
    ['eip155:137', 8],
    ['eip155:8453', 9],
  ])
  expect([...firstBlocks(both, undefined)]).toEqual([])
  expect(faultsOf(() => firstBlocks(both, '7'))).toEqual([
    '--from-block is 7, and 2 networks are compared; say of which it is the block: --from-block base=7,polygon=7, or with --network base.',
  ])
  expect(faultsOf(() => firstBlocks(both, 'celo=1,base=2,eip155:8453=3'))).toEqual([
    '--from-block names "celo"; it can be base or polygon.',
    '--from-block names "eip155:8453" twice; keep one.',
  ])
})

test('what is no block is refused before anything is opened', () => {
  for (const fine of [undefined, '0', '21000000', 'base=1', 'base=1,polygon=2']) checkFromBlock(fine)
  for (const wrong of ['', '-1', '1.5', 'base', 'base=', '=1', 'base=1,', '1'.repeat(16)]) {
    expect(() => checkFromBlock(wrong), wrong).toThrow(ConfigError)
  }
})
