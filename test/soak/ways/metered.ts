import { randomBytes } from 'node:crypto'
import type { Hex } from '../../../src/protocol/hex.ts'
import type { PaymentRequirements } from '../../../src/protocol/payment.ts'
import { permitTypedData, UPTO_PROXY_ADDRESS } from '../../../src/protocol/permit2.ts'
import type { DevAccount } from '../../../src/testing/index.ts'
import { VALID_SECONDS, type Way } from '../market.ts'
import { payByHeader } from './x402.ts'

async function signPermit({ account, address }: DevAccount, accepted: PaymentRequirements): Promise<object> {
  const { asset, amount, payTo, extra, network } = accepted
  const permit2Authorization = {
    from: address.toLowerCase() as Hex,
    permitted: { token: asset as Hex, amount },
    spender: UPTO_PROXY_ADDRESS,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`).toString(),
    deadline: String(Math.floor(Date.now() / 1000) + VALID_SECONDS),
    witness: { to: payTo as Hex, facilitator: extra.facilitatorAddress as Hex, validAfter: '0' },
  }
  const chainId = Number(network.split(':')[1])
  const signature = await account.signTypedData(permitTypedData(chainId, permit2Authorization))
  return { x402Version: 2, accepted, payload: { signature, permit2Authorization } }
}

/** A call that says afterwards what it cost. */
export const meteredCall: Way = (market, wallet, name) => {
  const init = { method: 'POST', headers: { 'idempotency-key': name } }
  const called = { way: 'metered', path: `/chat/${name}`, init, requestId: name }
  return payByHeader(market, wallet, called, signPermit)
}
