import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChainClient } from '../chain/chain-client.ts'
import { gasPolicyOf } from '../chain/gas-fees.ts'
import { readBalances } from '../chain/wallet-balances.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createWalletSigner } from '../schemes/wallet-signer.ts'
import { createGasWallet } from '../settlement/gas-wallet.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { type DevChain, startDevChain } from '../testing/dev-chain.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { checkGasWallets } from './check-wallets.ts'
import { runChecks } from './run-checks.ts'

const KEY: Hex = `0x${'17'.repeat(32)}`
const address = privateKeyToAddress(KEY).toLowerCase() as Address
const labels = {
  rpcUrl: 'RPC_URL',
  walletAddress: '',
  gasWalletPrivateKey: 'GAS_WALLET_PRIVATE_KEY',
  facilitatorUrl: '',
  settlerContract: '',
  refundWalletPrivateKey: '',
}
let dev: DevChain
beforeAll(async () => {
  dev = await startDevChain()
})
afterAll(() => dev.stop())

test.each([
  ['the usual limit', undefined],
  ['a small limit', 2_000_000],
])(
  'doctor and dashboard call a gas wallet too low exactly when the gateway does: %s',
  async (_, maxTxGas) => {
    const network = {
      ...findNetwork('testnet')!,
      rpcUrls: [dev.rpcUrl],
      ...(maxTxGas !== undefined && { maxTxGas }),
    }
    const chain = createChainClient({ rpcUrl: dev.rpcUrl, network })
    const [shown] = await readBalances(chain, [{ role: 'gas', address }])
    const needWei = shown!.needWei!
    const look = async (balanceWei: bigint) => {
      await dev.client.setBalance({ address, value: balanceWei })
      const wallet = createGasWallet({
        chainId: network.chainId,
        chain,
        store: createMemoryStore(),
        clock: createFakeClock(),
        alerts: { raise() {} },
        signers: [createWalletSigner(KEY, network, 'multicall3')],
        ...gasPolicyOf(network),
      })
      const [finding] = await runChecks([checkGasWallets([KEY], { network, labels, several: false })])
      return { isRefused: (await wallet.unavailable()) !== undefined, finding }
    }
    expect(await look(needWei - 1n)).toMatchObject({
      isRefused: true,
      finding: {
        level: 'error',
        message: expect.stringMatching(/too little for a full transaction.*settles nothing/),
      },
    })
    expect(await look(needWei)).toMatchObject({
      isRefused: false,
      finding: { level: 'warn', message: expect.stringMatching(/enough for about \d+ payments/) },
    })
    expect(await look(10n * needWei)).toMatchObject({ isRefused: false, finding: { level: 'ok' } })
  },
)
