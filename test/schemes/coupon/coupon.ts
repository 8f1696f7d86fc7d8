import { z } from 'zod'
import type { Claim, SignedFacts } from '../../../src/ports.ts'
import { UintString } from '../../../src/protocol/amount.ts'
import { AddressSchema, Bytes32Schema, SignatureSchema } from '../../../src/protocol/hex.ts'
import { nameFault } from '../../../src/protocol/name-fault.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'

export const COUPON_SCHEME = 'coupon'

const CouponSchema = z.object({
  serial: Bytes32Schema,
  holder: AddressSchema,
  shop: AddressSchema,
  worth: UintString,
  until: UintString,
  seal: SignatureSchema,
})

/**
 * A payment of another kind, for tests alone: a coupon that its holder made out to a shop and sealed. It is good for one
 * purchase until a given time. A type, not an interface: it is plain JSON.
 */
export type Coupon = z.infer<typeof CouponSchema>

export function parseCoupon(payload: unknown): { signed: Coupon; claims: Claim[] } | { fault: string } {
  const parsed = z.object({ coupon: CouponSchema }).safeParse(payload)
  if (!parsed.success) return { fault: nameFault(parsed.error, ['payload']) }
  const { coupon } = parsed.data
  const claims: Claim[] = [
    { about: 'amount', field: 'coupon.worth', value: coupon.worth },
    { about: 'payTo', field: 'coupon.shop', value: coupon.shop },
  ]
  return { signed: coupon, claims }
}

/** Another shape than that of any other scheme: nobody but the scheme may look into a key. */
export const COUPON_KEYS = 'coupon/'

export const couponKey = (chainId: number, holder: string, serial: string): string =>
  `${COUPON_KEYS}${chainId}/${holder}/${serial}`

export function serialOf(key: string): { holder: string; serial: string } {
  const [, , holder = '', serial = ''] = key.split('/')
  return { holder, serial }
}

export function factsOfCoupon(chainId: number, coupon: Coupon): SignedFacts {
  const { holder, serial, shop, worth, until, seal } = coupon
  return {
    key: couponKey(chainId, holder, serial),
    payer: holder,
    to: shop,
    amount: worth,
    validBefore: until,
    signature: seal,
  }
}

/** A coupon and an authorization say the same in different words; the simulated chain knows authorizations. */
export function asAuthorization({ serial, holder, shop, worth, until, seal }: Coupon): SignedAuthorization {
  return {
    from: holder,
    to: shop,
    value: worth,
    validAfter: '0',
    validBefore: until,
    nonce: serial,
    signature: seal,
  }
}

export function asCoupon({ from, to, value, validBefore, nonce, signature }: SignedAuthorization): Coupon {
  return { serial: nonce, holder: from, shop: to, worth: value, until: validBefore, seal: signature }
}
