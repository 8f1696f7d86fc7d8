import { beforeEach, expect, test } from 'vitest'
import { MAINNET, testRail } from '../../test/engine/test-rail.ts'
import type { GatewayOptions } from '../config/options.ts'
import { resolveConfig } from '../config/resolve-config.ts'
import type { Put } from '../ports.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { samplePut, sampleRow } from '../testing/store-rows.ts'
import { railsToOpen } from './rails-to-open.ts'

const exact = testRail()
const metered = testRail({ scheme: { name: 'upto' } })
const removed = testRail({ network: MAINNET })
const removedMetered = testRail({ network: MAINNET, scheme: { name: 'upto' } })
const networksWith = (way: Pick<GatewayOptions, 'facilitatorUrl' | 'gasWalletPrivateKey'>) =>
  resolveConfig({
    walletAddress: `0x${'11'.repeat(20)}`,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    tokenSecret: 'a shared secret of more than thirty-two bytes',
    store: 'memory',
    ...way,
  }).networks
const byFacilitator = networksWith({ facilitatorUrl: 'https://facilitator.example' })
const byGasWallet = networksWith({ gasWalletPrivateKey: `0x${'22'.repeat(32)}` })

const chargedOn = (rail: string): Put =>
  samplePut('authorizations', {
    ...sampleRow('authorizations', { key: 'a', ref: null, dueAt: 5 }),
    ...{ rail, phase: 'CHARGED' as const },
  })

const raised: string[] = []
const alerts = { raise: (kind: string, message: string) => void raised.push(`${kind}: ${message}`) }
beforeEach(() => void raised.splice(0))

async function opened(put?: Put | Put[], { hasGasWallet = true } = {}) {
  const store = createMemoryStore()
  const audit = {
    ...{ at: 1, challengeId: 'c', requestId: 'r', event: 'refund-failed', actor: 'gateway' as const },
    ...{ fromState: null, toState: null },
  }
  await store.commit({ puts: put ? [put].flat() : [], audit: [audit] })
  const built = [{ rail: exact, meteredRail: () => (hasGasWallet ? metered : undefined) }]
  const networks = hasGasWallet ? byGasWallet : byFacilitator
  const rails = await railsToOpen(store, built, { networks, label: 'SVC_NETWORK' }, alerts)
  return rails.map(({ id }) => id)
}

test('the rail of metered calls is open wherever a gas wallet can settle them: another instance may still sell some', async () => {
  expect(await opened()).toEqual([exact.id, metered.id])
  expect(await opened(chargedOn(metered.id))).toEqual([exact.id, metered.id])
  expect(await opened(undefined, { hasGasWallet: false })).toEqual([exact.id])
})

test('a charge that only a gas wallet can settle, and there is none: the message names its setting', async () => {
  await expect(opened(chargedOn(metered.id), { hasGasWallet: false })).rejects.toThrow(
    /^gasWalletPrivateKey is not set, and on eip155:84532 \(Base Sepolia\) 1 payment in the store/,
  )
})

const refund = (phase: 'FAILED' | 'DONE'): Put =>
  samplePut('refunds', {
    ...sampleRow('refunds', { key: 'a', ref: 'c', dueAt: null }),
    ...{ rail: removed.id, challengeId: 'c', phase },
  })

test('a network with a stored charge is not taken away; its failed refunds are named too', async () => {
  await expect(opened(chargedOn(removedMetered.id))).rejects.toThrow(
    /^SVC_NETWORK does not name eip155:8453 \(Base\), where 1 payment in the store/,
  )
  await expect(opened([refund('FAILED'), chargedOn(removed.id)])).rejects.toThrow(
    /where 1 payment in the store .* of a surplus\.$/,
  )
})

test('one thing that is not finished is told as one, several as several', async () => {
  const charges = ['a', 'b'].map((key) => {
    const row = sampleRow('authorizations', { key, ref: null, dueAt: 5 })
    const charged = { ...row, rail: removed.id, phase: 'CHARGED' as const }
    return samplePut('authorizations', charged)
  })
  await expect(opened(charges[0])).rejects.toThrow(
    /1 payment in the store is not finished\. .* until it is; or/,
  )
  await expect(opened(charges)).rejects.toThrow(
    /2 payments in the store are not finished\. .* until they are; or/,
  )
})

test('failed refunds alone do not refuse the start, because some can never be paid: an alert names them', async () => {
  expect(await opened(refund('DONE'))).toEqual([exact.id, metered.id])
  expect(raised).toEqual([])
  expect(await opened(refund('FAILED'))).toEqual([exact.id, metered.id])
  expect(raised).toEqual([
    expect.stringMatching(
      /^rail-missing: SVC_NETWORK does not name eip155:8453 \(Base\), where 1 failed refund waits for you \(c\)\. .*paystile refunds retry/,
    ),
  ])
})

test.each([exact, metered])('a network whose token was changed is named so ($scheme.name)', async (rail) => {
  const id = rail.id.replace(rail.network.token.address, `0x${'77'.repeat(20)}`)
  await expect(opened(chargedOn(id))).rejects.toThrow(
    /^SVC_NETWORK names eip155:84532 \(Base Sepolia\) with another token than before, where 1 payment/,
  )
})
