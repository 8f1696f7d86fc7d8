import { randomBytes } from 'node:crypto'
import type { Hex } from '../../src/protocol/hex.ts'
import { permitTypedData, UPTO_PROXY_ADDRESS } from '../../src/protocol/permit2.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type Bought, buyCall, type Shop, type Sign, validUntil } from './buyer.ts'

/** Buys a call whose backend says what it cost. */
export async function buyMetered(shop: Shop, buyer: DevAccount, requestId: string): Promise<Bought> {
  await approvePermit2(shop.site.chain, buyer)
  return buyCall(shop, buyer, requestId, signPermit)
}

const signPermit: Sign = async (shop, { account, address }, { asset, amount, payTo, extra }) => {
  const permit2Authorization = {
    from: address.toLowerCase() as Hex,
    permitted: { token: asset as Hex, amount },
    spender: UPTO_PROXY_ADDRESS,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`).toString(),
    deadline: String(validUntil(shop)),
    witness: { to: payTo as Hex, facilitator: extra.facilitatorAddress as Hex, validAfter: '0' },
  }
  const { chainId } = shop.site.chain
  return {
    signature: await account.signTypedData(permitTypedData(chainId, permit2Authorization)),
    permit2Authorization,
  }
}
