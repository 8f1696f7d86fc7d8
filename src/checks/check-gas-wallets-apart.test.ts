import { privateKeyToAddress } from 'viem/accounts'
import { expect, test } from 'vitest'
import { liveChecks } from './live-checks.ts'
import { runChecks } from './run-checks.ts'

const [gas, own, other] = (['17', '18', '19'] as const).map((byte) => `0x${byte.repeat(32)}` as const)

/** What doctor finds about gas wallets without asking any server. */
const look = async (walletAddress: string, change: object = {}) => {
  const options = { network: 'testnet', walletAddress, gasWalletPrivateKey: gas, store: 'memory', ...change }
  const checks = liveChecks(options as Parameters<typeof liveChecks>[0])
  return runChecks(checks.filter(({ asks }) => asks === 'the gas wallet'))
}

test('a gas wallet that is the paid wallet is a warning, in whatever case the address is written', async () => {
  const address = privateKeyToAddress(gas!)
  const [finding, ...more] = await look(address.toLowerCase())
  expect(more).toEqual([])
  expect(finding).toMatchObject({
    ...{ name: 'GAS_WALLET_PRIVATE_KEY', level: 'warn' },
    message: expect.stringContaining('this key also holds your revenue; use a wallet of its own'),
  })
  expect(finding!.message).toContain(address)
  expect(JSON.stringify(finding)).not.toContain(gas!.slice(2))
})

test('one that is apart is no finding, also beside a refund wallet that is the paid one, as it normally is', async () => {
  const paid = privateKeyToAddress(own!)
  expect(await look(paid, { refundWalletPrivateKey: own })).toEqual([])
})

test('each of several keys is compared, with the paid wallets of all networks', async () => {
  const found = await look(privateKeyToAddress(own!), {
    network: 'base-sepolia,arbitrum-sepolia',
    gasWalletPrivateKey: [other, gas],
    perNetwork: { 421614: { walletAddress: privateKeyToAddress(gas!) } },
  })
  const addresses = found.map(({ message }) => message.split(' ')[0])
  expect(new Set(addresses)).toEqual(new Set([privateKeyToAddress(gas!)]))
})
