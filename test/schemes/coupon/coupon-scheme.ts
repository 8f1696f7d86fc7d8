import type { RefundSigner, Scheme, TxSigner } from '../../../src/ports.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'
import type { ChainPort } from '../../sim/chain/chain-port.ts'
import {
  asAuthorization,
  asCoupon,
  COUPON_SCHEME,
  type Coupon,
  couponKey,
  factsOfCoupon,
  parseCoupon,
  serialOf,
} from './coupon.ts'

/** Nothing may be waited for without an end. */
const VALIDITY_SECONDS = { least: 10, most: 3600 }

type ChainQuestions = Pick<ChainPort, 'simulate' | 'uses' | 'usesIfMined'>

/** What of the scheme needs no chain. */
export function pureCouponScheme(chainId: number) {
  return {
    name: COUPON_SCHEME,
    parse: parseCoupon,
    factsOf: (coupon: Coupon) => factsOfCoupon(chainId, coupon),
    isSame: (one: Coupon, other: Coupon) => JSON.stringify(one) === JSON.stringify(other),
    validityFault({ until }: Coupon, chainTime: number) {
      const left = Number(until) - chainTime
      return left < VALIDITY_SECONDS.least || left > VALIDITY_SECONDS.most
        ? `the coupon is good for ${left} s; it may be ${VALIDITY_SECONDS.least} to ${VALIDITY_SECONDS.most}`
        : undefined
    },
  }
}

/** The whole scheme, over a chain that is asked in the words of authorizations (`exactKey` names one there). */
export function createCouponScheme(
  chainId: number,
  chain: ChainQuestions,
  isSealed: (auth: SignedAuthorization) => boolean,
  exactKey: (payer: string, nonce: string) => string,
): Scheme<Coupon> {
  const translate = (keys: readonly string[]) => {
    const original = new Map(
      keys.map((key) => {
        const { holder, serial } = serialOf(key)
        return [exactKey(holder, serial), key]
      }),
    )
    return { asked: [...original.keys()], back: (key: string) => original.get(key)! }
  }
  return {
    ...pureCouponScheme(chainId),
    async verify(coupon) {
      return isSealed(asAuthorization(coupon))
        ? { signed: coupon, byKey: true }
        : { invalid: 'the seal is not the holder’s' }
    },
    simulate: (coupons, sender) => chain.simulate(coupons.map(asAuthorization), sender),
    async uses(keys, fromHeight, hashes) {
      const { asked, back } = translate(keys)
      const seen = await chain.uses(asked, fromHeight, hashes)
      return { ...seen, found: seen.found.map((use) => ({ ...use, key: back(use.key) })) }
    },
    async usesIfMined(keys, fromHeight, hashes) {
      const { asked, back } = translate(keys)
      const { at, uses: seen } = await chain.usesIfMined(asked, fromHeight, hashes)
      const found = seen?.found.map((use) => ({ ...use, key: back(use.key) }))
      return { at, ...(seen && found && { uses: { ...seen, found } }) }
    },
  }
}

/** Refunds are coupons of the seller's, made out to the buyer. */
export function couponRefunds(chainId: number, signer: RefundSigner): RefundSigner {
  return {
    address: signer.address,
    keyOf: (receiptKey) => {
      const nonce = signer.keyOf(receiptKey).split(':').at(-1)!
      return couponKey(chainId, signer.address, nonce)
    },
    sign: async (refund, chainTime) =>
      asCoupon((await signer.sign(refund, chainTime)) as unknown as SignedAuthorization),
  }
}

/** A wallet's transactions carry coupons. */
export function couponTransactions(signer: TxSigner): TxSigner {
  return {
    address: signer.address,
    sign: (tx) =>
      signer.sign({ ...tx, calls: tx.calls.map((call) => asAuthorization(call as unknown as Coupon)) }),
  }
}
