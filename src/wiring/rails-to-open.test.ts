import { expect, test } from 'vitest'
import { MAINNET, testRail } from '../../test/engine/test-rail.ts'
import { resolveConfig } from '../config/resolve-config.ts'
import type { Put } from '../ports.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { samplePut, sampleRow } from '../testing/store-rows.ts'
import { railsToOpen } from './rails-to-open.ts'

const exact = testRail()
const metered = testRail({ scheme: { name: 'upto' } })
const removed = testRail({ network: MAINNET })
const removedMetered = testRail({ network: MAINNET, scheme: { name: 'upto' } })
const { networks } = resolveConfig({
  walletAddress: `0x${'11'.repeat(20)}`,
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'a shared secret of more than thirty-two bytes',
  facilitatorUrl: 'https://facilitator.example',
  store: 'memory',
})

const chargedOn = (rail: string): Put =>
  samplePut('authorizations', {
    ...sampleRow('authorizations', { key: 'a', ref: null, dueAt: 5 }),
    ...{ rail, phase: 'CHARGED' as const },
  })

async function opened(put?: Put, { isMetered = false, hasGasWallet = true } = {}) {
  const store = createMemoryStore()
  const audit = {
    ...{ at: 1, challengeId: 'c', requestId: 'r', event: 'refund-failed', actor: 'gateway' as const },
    ...{ fromState: null, toState: null },
  }
  await store.commit({ puts: put ? [put] : [], audit: [audit] })
  const built = [{ rail: exact, meteredRail: () => (hasGasWallet ? metered : undefined) }]
  const rails = await railsToOpen(store, built, { networks, isMetered, label: 'SVC_NETWORK' })
  return rails.map(({ id }) => id)
}

test('the rail of metered calls is open while one is sold, and until all of them are finished', async () => {
  expect(await opened()).toEqual([exact.id])
  expect(await opened(undefined, { isMetered: true })).toEqual([exact.id, metered.id])
  expect(await opened(chargedOn(metered.id))).toEqual([exact.id, metered.id])
  expect(await opened(chargedOn(metered.id), { isMetered: true })).toEqual([exact.id, metered.id])
})

test('a charge that only a gas wallet can settle, and there is none: the message names its setting', async () => {
  await expect(opened(chargedOn(metered.id), { hasGasWallet: false })).rejects.toThrow(
    /^gasWalletPrivateKey is not set, and on eip155:84532 \(Base Sepolia\) 1 payment in the store/,
  )
})

test('a network with a stored charge, or with a refund that failed, is not taken away', async () => {
  await expect(opened(chargedOn(removedMetered.id))).rejects.toThrow(
    /^SVC_NETWORK does not name eip155:8453 \(Base\), where 1 payment in the store/,
  )
  const refund = (phase: 'FAILED' | 'DONE') =>
    samplePut('refunds', {
      ...sampleRow('refunds', { key: 'a', ref: 'c', dueAt: null }),
      ...{ rail: removed.id, phase },
    })
  await expect(opened(refund('FAILED'))).rejects.toThrow(
    /where 1 failed refund in the store .* paystile refunds retry, or paystile refunds resolve\.$/,
  )
  expect(await opened(refund('DONE'))).toEqual([exact.id])
})

test('a network whose token was changed is named so', async () => {
  const id = exact.id.replace(exact.network.token.address, `0x${'77'.repeat(20)}`)
  await expect(opened(chargedOn(id))).rejects.toThrow(
    /^SVC_NETWORK names eip155:84532 \(Base Sepolia\) with another token than before, where 1 payment/,
  )
})
