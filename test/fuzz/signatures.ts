import fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { hashTypedData, hexToBytes, recoverAddress } from 'viem/utils'
import { loadCurve } from '../../src/chain/curve.ts'
import { loadKeccak } from '../../src/chain/keccak.ts'
import { authorizationTypedData } from '../../src/protocol/authorization.ts'
import type { Hex } from '../../src/protocol/hex.ts'
import { NETWORKS } from '../../src/protocol/networks.ts'
import { createAuthorizationDigest } from '../../src/schemes/exact/authorization-digest.ts'
import { createSignerRecovery } from '../../src/schemes/exact/recover-signer.ts'
import { hex } from './payments.ts'
import { fault, openTarget, type Target } from './target.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const uint = fc
  .oneof(fc.bigInt(0n, 2n ** 256n - 1n), fc.bigInt(0n, 1000n), fc.constantFrom(0n, 2n ** 256n - 1n))
  .map(String)
const authorization = fc.record({
  from: hex(20) as fc.Arbitrary<Hex>,
  to: hex(20) as fc.Arbitrary<Hex>,
  value: uint,
  validAfter: uint,
  validBefore: uint,
  nonce: hex(32) as fc.Arbitrary<Hex>,
})
const word = (value: bigint) => value.toString(16).padStart(64, '0')

/** A good signature's halves, or others: one bit off, noise, an edge of the range; and either v. */
const change = fc.record({
  part: fc.constantFrom<'none' | 'r' | 's'>('none', 'none', 'r', 's'),
  put: fc.oneof(
    hex(32).map((text) => text.slice(2)),
    fc.constantFrom(0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, ORDER / 2n, 2n ** 256n - 1n).map(word),
  ),
  bit: fc.option(fc.nat(511)),
  v: fc.constantFrom('1b', '1c'),
})

/** Our own typed-data hash and recovery, against viem's. */
export const signaturesTarget: Target = {
  name: 'signatures',
  share: 2,
  async open() {
    const account = privateKeyToAccount(generatePrivateKey())
    const keccak = await loadKeccak()
    const recover = createSignerRecovery(loadCurve(), keccak)
    const digests = NETWORKS.map((network) => ({
      network,
      digestOf: createAuthorizationDigest(network, keccak),
    }))
    return openTarget({
      inputs: fc.record({ network: fc.nat(NETWORKS.length - 1), authorization, change }),
      async check(input) {
        const { network, digestOf } = digests[input.network]!
        const digest = digestOf(input.authorization)
        const hash = hashTypedData(authorizationTypedData(network, input.authorization))
        if (!Buffer.from(digest).equals(hexToBytes(hash))) fault("the digest is not viem's")
        const signature = changed(await account.sign({ hash }), input.change)
        const expected = await recoverAddress({ hash, signature }).then(
          (address) => address.toLowerCase(),
          () => undefined,
        )
        const found = recover(digest, signature)
        if (found !== expected) fault(`recovered ${found}, viem ${expected}, of ${signature}`)
        return expected === undefined ? 'no signer' : 'a signer'
      },
    })
  },
}

function changed(
  good: Hex,
  { part, put, bit, v }: { part: string; put: string; bit: number | null; v: string },
): Hex {
  const r = part === 'r' ? put : good.slice(2, 66)
  const s = part === 's' ? put : good.slice(66, 130)
  const bytes = Buffer.from(r + s, 'hex')
  if (bit !== null) bytes[bit >> 3]! ^= 1 << (bit & 7)
  return `0x${bytes.toString('hex')}${v}`
}
