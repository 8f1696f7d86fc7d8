import { concat, encodeAbiParameters } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { expect, test } from 'vitest'
import { createChainClient } from '../chain/chain-client.ts'
import { createDomainCheck } from '../chain/check-domain.ts'
import { resultOf } from '../chain/rpc.ts'
import type { RpcAnswer } from '../chain/rpc-answer.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { UPTO_PROXY_ADDRESS } from '../protocol/permit2.ts'
import type { SignedPermit } from '../schemes/upto/permit.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { buildRail } from './build-rail.ts'

const network = findNetwork('polygon')!
const FACTORY: Address = `0x${'fa'.repeat(20)}`
const GAS_KEY: Hex = `0x${'11'.repeat(32)}`
const OWN_SIGNATURE: Hex = `0x${'ab'.repeat(70)}`
const AGREED = `0x1626ba7e${'00'.repeat(28)}`

/** A node for which every address is a wallet contract that agrees to everything. */
function agreeingNode() {
  const answer = (method: string): RpcAnswer => ({
    ok: true,
    result: method === 'eth_getCode' ? '0x6080' : AGREED,
  })
  return {
    attempt: async (method: string) => answer(method),
    call: async (method: string) => resultOf(method, answer(method)),
    roundTripMs: () => 1,
    isLimited: () => false,
  }
}

async function meteredRail(factories: readonly Address[]) {
  const clock = createFakeClock()
  const client = createChainClient({ rpc: agreeingNode(), network, now: clock.now })
  const built = await buildRail(
    {
      network,
      walletAddress: `0x${'5e'.repeat(20)}`,
      settlement: { kind: 'gas-wallet', privateKeys: [GAS_KEY] },
      refundWalletPrivateKey: null,
      labels: {
        rpcUrl: 'RPC_URL',
        walletAddress: 'SVC_WALLET_ADDRESS',
        gasWalletPrivateKey: 'GAS_WALLET_PRIVATE_KEY',
        facilitatorUrl: 'FACILITATOR_URL',
        settlerContract: 'SETTLER_CONTRACT',
      },
    },
    factories,
    { client, domain: createDomainCheck(network, 'RPC_URL', { nodes: [], leaveOut() {} }), isSilent: false },
    { store: createMemoryStore(), alerts: { raise() {} }, clock, turns: undefined },
  )
  return built.meteredRail()!
}

const wrapped = encodeAbiParameters(
  [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
  [FACTORY, '0x1234', OWN_SIGNATURE],
)
const permit: SignedPermit = {
  from: `0x${'aa'.repeat(20)}`,
  token: network.token.address,
  amount: '1000',
  spender: UPTO_PROXY_ADDRESS,
  nonce: '7',
  deadline: '1750000000',
  to: `0x${'5e'.repeat(20)}`,
  facilitator: privateKeyToAddress(GAS_KEY).toLowerCase() as Address,
  validAfter: '0',
  signature: concat([wrapped, `0x${'6492'.repeat(16)}`]),
}

test('metered routes take the wallets of the factories that exact routes take', async () => {
  expect(await (await meteredRail([FACTORY])).scheme.verify(permit)).toEqual({
    signed: { ...permit, signature: OWN_SIGNATURE },
    byKey: false,
  })
  expect(await (await meteredRail([])).scheme.verify(permit)).toEqual({
    invalid: expect.stringContaining(`EIP-6492 signatures of factory ${FACTORY} are not accepted`),
  })
})
