import { expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { MAINNET, offeredOn, SELLER, testRail } from '../../../test/engine/test-rail.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { howToPay, priceText, x402Challenge } from './challenge-terms.ts'

const polygon = findNetwork('polygon')!
const first = offeredOn(testRail({ network: MAINNET }), '1500000', SELLER)
const second = offeredOn(testRail({ network: polygon }), '1500000', `0x${'77'.repeat(20)}`)

test('with one network there is one way to pay', () => {
  const offer = testOffer({ rails: [first] })
  expect(priceText(offer)).toBe('$1.50 in USDC on eip155:8453 for One hour')
  expect(x402Challenge(offer)).not.toHaveProperty('networks')
})

test('with several every way to pay is named, and the fields of one name the preferred', () => {
  const offer = testOffer({ rails: [first, second] })
  expect(priceText(offer)).toBe('$1.50 in USDC on eip155:8453 or eip155:137 for One hour')
  expect(x402Challenge(offer)).toMatchObject({
    ...{ amount: '1500000', unitAmount: '$1.50', network: 'eip155:8453', chainId: 8453, destination: SELLER },
    networks: [
      { network: 'eip155:8453', name: 'Base', chainId: 8453, destination: SELLER },
      {
        network: 'eip155:137',
        name: 'Polygon',
        chainId: 137,
        asset: polygon.token.address,
        amount: '1500000',
      },
    ],
  })
})

test('of a metered call the maximum is told, and that it is signed by Permit2', () => {
  const offer = testOffer({ rails: [{ ...first, scheme: 'upto' }] })
  expect(priceText(offer)).toBe('at most $1.50 in USDC on eip155:8453 for One hour')
  expect(howToPay(offer)).toMatch(/^Sign accepts\[0\] of x402\.payment\.required \(its maximum, by Permit2\)/)
  expect(howToPay(testOffer({ rails: [first] }))).toContain('(EIP-3009)')
})
