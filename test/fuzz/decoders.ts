import fc from 'fast-check'
import { parseUnits } from 'viem/utils'
import { forwardedHeaders } from '../../src/delivery/payment-headers.ts'
import { createMpp } from '../../src/dialects/mpp/create-mpp.ts'
import { pinnedNonce } from '../../src/dialects/mpp/read-credential.ts'
import { spokenBy } from '../../src/dialects/mpp/spoken.ts'
import { encodeUrl } from '../../src/dialects/mpp/words.ts'
import { createX402 } from '../../src/dialects/x402/create-x402.ts'
import { GatewayError } from '../../src/errors.ts'
import { dollarsToMicro, microToDollars, priceFault, UintString } from '../../src/protocol/amount.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import { makeChallengeId } from '../../src/rules/challenge-id.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { exactRail } from '../settlement/exact-rail.ts'
import { headerSafe, type Json } from './mutate.ts'
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

const REALM = 'http://localhost'
const EXPIRES = Date.UTC(2027, 0, 1)

/** The shape of a good credential, without a real signature. */
export function sampleCredential(): Json {
  const challengeId = makeChallengeId(
    { id: 1, key: new Uint8Array(32) },
    'http',
    EXPIRES,
    new Uint8Array(12),
    {
      ...{ kind: 'plan', itemId: 'basic', resourceId: 'default', resource: null, resourceHash: '' },
      ...{ amount: '1000000', requestId: 'r', credits: 0 },
    },
  )
  const id = `${challengeId}.${'s'.repeat(22)}`
  const { token, chainId } = findNetwork('testnet')!
  const request = {
    amount: '1000000',
    currency: token.address,
    methodDetails: { chainId, credentialTypes: ['authorization'], decimals: token.decimals },
    recipient: `0x${'bB'.repeat(20)}`,
  }
  return {
    challenge: {
      ...{ id, realm: REALM, method: 'evm', intent: 'charge', request: encodeUrl(request) },
      expires: new Date(EXPIRES).toISOString(),
      opaque: encodeUrl({ planId: 'basic', requestId: 'r', resourceId: 'default' }),
    },
    payload: {
      type: 'authorization',
      from: `0x${'Aa'.repeat(20)}`,
      to: `0x${'bB'.repeat(20)}`,
      value: '1000000',
      validAfter: '0',
      validBefore: String(EXPIRES / 1000),
      nonce: pinnedNonce(id, REALM),
      signature: `0x${'11'.repeat(64)}1b`,
    },
    source: `did:pkh:eip155:${chainId}:0x${'Aa'.repeat(20)}`,
  }
}

const CREDENTIAL_REFUSALS = ['INVALID_REQUEST', 'INVALID_PROOF', 'CHALLENGE_NOT_FOUND', 'METHOD_UNSUPPORTED']

/** MPP's headers: the credential, `Authorization` and `Accept-Payment` as anybody may write them. */
export const mppHeadersTarget: Target = {
  name: 'mpp-headers',
  share: 10,
  open: async () => {
    const mpp = createMpp([exactRail(findNetwork('testnet')!)], REALM, () => EXPIRES - 600_000)
    const sample = sampleCredential()
    return openTarget({
      inputs: fc.record({
        header: someHeader,
        scheme: fc.constantFrom(
          ...Array<string>(9).fill('Payment '),
          'payment\t',
          'PAYMENT  ',
          ' Payment ',
          '',
        ),
        accepted: fc.oneof(
          fc.constantFrom('evm/charge', '*/*;q=0', 'evm/*;q=0.5,x', ',,,', 'evm/charge;q=2'),
          fc.string({ unit: 'binary', maxLength: 60 }),
        ),
      }),
      check({ header, scheme, accepted }) {
        const text = renderHeader(header, sample)
        const value = headerSafe(scheme + text)
        const spoken = spokenBy(value, null, accepted)
        if (spoken.paysByMpp === spoken.hasBearer) fault('a credential that is a bearer token, or neither')
        if (spoken.paysByMpp && 'authorization' in forwardedHeaders({ authorization: value }))
          fault('a credential is passed on')
        const read = mpp.readHeader(value)
        if (read instanceof GatewayError) {
          if (!CREDENTIAL_REFUSALS.includes(read.code)) fault(`refused with ${read.code}`)
          if (read.message.length > 600) fault(`a message of ${read.message.length} characters`)
          if (read.message.includes('11'.repeat(16))) fault('the message repeats the signature')
          return read.code
        }
        if (!spoken.paysByMpp) fault('paid by what is no credential')
        const { nonce, validBefore } = read.signed as SignedAuthorization
        if (nonce !== pinnedNonce(`${read.echo.challengeId}.${read.salt}`, REALM)) fault(`nonce ${nonce}`)
        if (Number(validBefore) * 1000 > EXPIRES) fault(`valid until ${validBefore}`)
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
