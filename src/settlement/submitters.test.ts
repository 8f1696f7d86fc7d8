import { expect, test } from 'vitest'
import type { Chain, Store, TxSigner } from '../ports.ts'
import { createSubmitters } from './submitters.ts'

const signer = (address: `0x${string}`): TxSigner => ({
  address,
  sign: async () => ({ raw: '0x', hash: '0x' }),
})
const GAS = signer('0x0000000000000000000000000000000000000001')
const REFUND = signer('0x0000000000000000000000000000000000000002')
const facilitator = { settle: async () => ({ kind: 'hint' as const }) }

function build(
  way: Parameters<typeof createSubmitters>[1],
  refundWallet: TxSigner | undefined,
  ether: bigint,
) {
  const wallet = async () => ({ nonce: 0, balanceWei: ether, baseFeeWei: 10n, priorityFeeWei: 1n })
  const alerts: string[] = []
  const parts = {
    chainId: 84532,
    chain: { wallet } as unknown as Chain,
    store: {} as Store,
    clock: { now: () => 0, sleep: async () => {}, requestsSent: async () => {} },
    alerts: { raise: (kind: string) => void alerts.push(kind) },
  }
  return { ...createSubmitters(parts, way, refundWallet), alerts }
}

const available = async ({ refundSubmitters }: ReturnType<typeof build>) =>
  Promise.all(refundSubmitters.map(async (one) => (await one.unavailable()) === undefined))

test('a refund wallet without ETH sends nothing and raises no alert, because the facilitator can send', async () => {
  const built = build({ kind: 'facilitator', facilitator }, REFUND, 0n)
  expect(await available(built)).toEqual([false, true])
  expect(built.alerts).toEqual([])
})

test('a refund wallet with a little ETH is preferred to the facilitator, but not to a gas wallet', async () => {
  const little = 10n ** 9n
  expect(await available(build({ kind: 'facilitator', facilitator }, REFUND, little))).toEqual([true, true])
  const built = build({ kind: 'gas-wallet', signers: [GAS] }, REFUND, little)
  expect(built.refundSubmitters[0]).toBe(built.settlement)
  expect(await available(built)).toEqual([true, true])
})

test('payments are never sent by the refund wallet', () => {
  const built = build({ kind: 'facilitator', facilitator }, REFUND, 10n ** 18n)
  expect(built.settlement.batchSize).toBe(1)
  expect(build({ kind: 'gas-wallet', signers: [GAS] }, REFUND, 1n).settlement).not.toBe(
    built.refundSubmitters[0],
  )
})

test('a refund wallet that is also a gas wallet is one wallet, with one sequence of nonces', () => {
  const { refundSubmitters, settlement } = build({ kind: 'gas-wallet', signers: [GAS, REFUND] }, REFUND, 1n)
  expect(refundSubmitters).toEqual([settlement])
})

test('without a refund key there is no submitter besides the one for payments', () => {
  const { refundSubmitters, settlement } = build({ kind: 'facilitator', facilitator }, undefined, 1n)
  expect(refundSubmitters).toEqual([settlement])
})
