import { expect, test } from 'vitest'
import { findNetwork } from '../protocol/networks.ts'
import { createWalletCode } from './contract-faults.ts'

const WALLET = `0x${'5a'.repeat(20)}` as const
const OTHER = `0x${'07'.repeat(20)}` as const

const on = (word: string, hasCode: boolean | undefined, walletAddress: `0x${string}` = WALLET) => {
  const network = findNetwork(word)!
  const rest = { rpcUrl: '', gasWalletPrivateKey: '', facilitatorUrl: '', settlerContract: '' }
  const labels = { ...rest, walletAddress: 'SVC_WALLET_ADDRESS' }
  return { on: { network, walletAddress, labels }, hasCode }
}

function faultsOf(found: ReadonlyArray<ReturnType<typeof on>>): string[] {
  const wallets = createWalletCode(found.map((one) => one.on))
  for (const one of found) if (one.hasCode !== undefined) wallets.note(one.on, one.hasCode)
  return found.flatMap((one) => wallets.faultsOf(one.on))
}

test('an address that is a contract on one chain and nothing on another is a fault there', () => {
  expect(faultsOf([on('base', true), on('polygon', false), on('celo', true)])).toEqual([
    `SVC_WALLET_ADDRESS is ${WALLET}, which is a contract on Base and has no code on Polygon: money sent to it there could not be moved. Give Polygon a wallet of its own, or deploy this one there first.`,
  ])
})

test.each([
  ['a contract everywhere', [on('base', true), on('polygon', true)]],
  ['a plain account everywhere', [on('base', false), on('polygon', false)]],
  ['one of the chains does not answer', [on('base', true), on('polygon', undefined)]],
  ['each has its own', [on('base', true), on('polygon', false, OTHER)]],
  ['one network', [on('base', true)]],
])('no fault: %s', (_, found) => {
  expect(faultsOf(found)).toEqual([])
})
