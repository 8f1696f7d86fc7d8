import fc from 'fast-check'
import { parseUnits } from 'viem/utils'
import { createX402 } from '../../src/dialects/x402/create-x402.ts'
import { GatewayError } from '../../src/errors.ts'
import { dollarsToMicro, microToDollars, priceFault, UintString } from '../../src/protocol/amount.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { exactRail } from '../settlement/exact-rail.ts'
import { renderHeader, SAMPLE_PAYMENT, someHeader } from './payments.ts'
import { fault, openTarget, type Target } from './target.ts'

/** The header that is as good as money. */
export const paymentHeaderTarget: Target = {
  name: 'payment-header',
  share: 20,
  open: async () => {
    const x402 = createX402([exactRail(findNetwork('testnet')!)], 'http://localhost')
    return openTarget({
      inputs: someHeader,
      check(header) {
        const decoded = x402.readHeader(renderHeader(header, SAMPLE_PAYMENT))
        if (decoded instanceof GatewayError) {
          if (decoded.code !== 'INVALID_REQUEST') fault(`refused with ${decoded.code}`)
          if (decoded.message.length > 600) fault(`a message of ${decoded.message.length} characters`)
          if (decoded.message.includes('11'.repeat(16))) fault('the message repeats the signature')
          return 'refused'
        }
        const { signed, key, payer } = decoded
        const { from, to, nonce, value, validAfter, validBefore, signature } = signed as SignedAuthorization
        if (payer !== from || key !== key.toLowerCase()) fault(`not canonical: ${key} of ${payer}`)
        for (const hex of [from, to, nonce, signature])
          if (!/^0x[0-9a-f]+$/.test(hex)) fault(`not canonical: ${hex}`)
        for (const number of [value, validAfter, validBefore])
          if (String(BigInt(number)) !== number) fault(`not canonical: ${number}`)
        return 'decoded'
      },
    })
  },
}

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 14 })
const decimal = fc
  .tuple(digits, fc.option(digits))
  .map(([whole, part]) => (part === null ? whole : `${whole}.${part}`))
const price = fc.oneof(
  decimal.map((number) => `$${number}`),
  decimal,
  fc.string({ unit: fc.constantFrom(...'$0123456789.,-+eExX \t\n_٣'), maxLength: 16 }),
  fc.string({ unit: 'binary', maxLength: 16 }),
)

/** Prices against viem's decimals, and back; numbers of the wire against BigInt. */
export const amountsTarget: Target = {
  name: 'amounts',
  share: 15,
  open: async () =>
    openTarget({
      inputs: fc.record({ text: price, micro: fc.bigInt(1n, 10n ** 18n - 1n) }),
      check({ text, micro }) {
        const wrong = priceFault(text)
        // An amount that everybody reads the same way; everything else must be refused.
        const plain = /^\$[0-9]{1,12}(\.[0-9]{1,6})?$/.test(text) && /[1-9]/.test(text)
        if (plain !== (wrong === undefined)) fault(`"${text}" is ${wrong ?? 'taken'}`)
        if (plain && dollarsToMicro(text) !== parseUnits(text.slice(1), 6))
          fault(`${text} is ${dollarsToMicro(text)}`)
        if (dollarsToMicro(microToDollars(micro)) !== micro) fault(`${micro} does not come back`)
        for (const number of [text, text.replace('$', ''), String(micro)]) {
          const taken = UintString.safeParse(number).success
          const canonical = /^[0-9]{1,78}$/.test(number) && String(BigInt(number)) === number
          if (taken !== canonical) fault(`"${number}" is ${taken ? 'taken' : 'refused'}`)
        }
        return plain ? 'a price' : 'no price'
      },
    }),
}
