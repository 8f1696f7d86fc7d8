import { afterAll, beforeAll, expect, test } from 'vitest'
import { MULTICALL3 } from '../chain/multicall.ts'
import { findNetwork } from '../protocol/networks.ts'
import { type DevChain, startDevChain } from '../testing/dev-chain.ts'
import { checkChain } from './check-chain.ts'
import { runChecks } from './run-checks.ts'

let chain: DevChain
beforeAll(async () => {
  chain = await startDevChain()
})
afterAll(() => chain.stop())

test('doctor names Multicall3 where a chain lacks it', async () => {
  const labels = {
    rpcUrl: 'RPC_URL',
    walletAddress: '',
    gasWalletPrivateKey: '',
    facilitatorUrl: '',
    settlerContract: '',
    refundWalletPrivateKey: '',
  }
  const place = { network: findNetwork('testnet')!, labels, several: false }
  const check = () => runChecks([checkChain(chain.rpcUrl, place)])
  expect((await check()).map(({ level }) => level)).toEqual(['ok', 'ok'])
  await chain.client.setCode({ address: MULTICALL3, bytecode: '0x' })
  expect(await check()).toMatchObject([
    {
      name: 'RPC_URL',
      level: 'error',
      message: expect.stringContaining(`Multicall3 (${MULTICALL3}) is not on`),
    },
  ])
})
