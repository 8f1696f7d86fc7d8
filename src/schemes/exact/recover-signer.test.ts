import fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { hashTypedData, hexToBytes, recoverAddress } from 'viem/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { repetitions } from '../../../test/at-length.ts'
import { loadCurve } from '../../chain/curve.ts'
import { type Keccak, loadKeccak, pureKeccak } from '../../chain/keccak.ts'
import { type Authorization, authorizationTypedData } from '../../protocol/authorization.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { type DevChain, startDevChain } from '../../testing/dev-chain.ts'
import type { SignedAuthorization } from './authorization.ts'
import { createAuthorizationDigest } from './authorization-digest.ts'
import { createSignerRecovery } from './recover-signer.ts'
import { createSignatures } from './signatures.ts'
import { encodeTransfer } from './token-calls.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const account = privateKeyToAccount(generatePrivateKey())
const payer = account.address.toLowerCase() as Address
let keccak: Keccak
let dev: DevChain
beforeAll(async () => {
  keccak = await loadKeccak()
  dev = await startDevChain()
})
afterAll(() => dev.stop())

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((all) => `0x${Buffer.from(all).toString('hex')}` as Hex)
const uint = fc
  .oneof(fc.bigInt(0n, 2n ** 256n - 1n), fc.bigInt(0n, 1000n), fc.constantFrom(0n, 2n ** 256n - 1n))
  .map(String)
const someAuthorization: fc.Arbitrary<Authorization> = fc.record({
  from: hex(20),
  to: hex(20),
  value: uint,
  validAfter: uint,
  validBefore: uint,
  nonce: hex(32),
})
const word = (value: bigint): string => value.toString(16).padStart(64, '0')

/** How a forger may change a valid signature: one bit, another half, a limit of the range, the malleable twin. */
const mutation = fc.oneof(
  fc.constant((good: Hex) => good),
  fc.nat(519).map((bit) => (good: Hex) => {
    const bytes = hexToBytes(good)
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    return `0x${Buffer.from(bytes).toString('hex')}` as Hex
  }),
  fc.tuple(hex(32), fc.boolean()).map(([half, first]) => (good: Hex) => {
    return (first ? half + good.slice(66) : good.slice(0, 66) + half.slice(2) + good.slice(130)) as Hex
  }),
  fc
    .tuple(
      fc.constantFrom(0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, ORDER / 2n, ORDER / 2n + 1n, 2n ** 256n - 1n),
      fc.boolean(),
    )
    .map(([edge, first]) => (good: Hex) => {
      return (
        first ? `0x${word(edge)}${good.slice(66)}` : `${good.slice(0, 66)}${word(edge)}${good.slice(130)}`
      ) as Hex
    }),
  fc.constant((good: Hex) => {
    const twin = word(ORDER - BigInt(`0x${good.slice(66, 130)}`))
    return `${good.slice(0, 66)}${twin}${good.endsWith('1b') ? '1c' : '1b'}` as Hex
  }),
  fc.constant((good: Hex) => (good.slice(0, 130) + (good.endsWith('1b') ? '1c' : '1b')) as Hex),
)

test.each(NETWORKS)("the digest equals viem's on $word, with either keccak", (network) => {
  const fast = createAuthorizationDigest(network, keccak)
  const pure = createAuthorizationDigest(network, pureKeccak)
  const check = (auth: Authorization) => {
    const expected = hexToBytes(hashTypedData(authorizationTypedData(network, auth)))
    expect(fast(auth)).toEqual(expected)
    expect(pure(auth)).toEqual(expected)
  }
  // Networks differ only in their domain: of what is common to them, these are many runs.
  fc.assert(fc.property(someAuthorization, check), { numRuns: repetitions({ few: 50, many: 300 }) })
})

test('recovery finds the signer that viem finds, or none where it finds none', async () => {
  const recover = createSignerRecovery(loadCurve(), keccak)
  const edges = fc.constantFrom(0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, 2n ** 256n - 1n)
  const digests = fc.oneof(
    { arbitrary: hex(32), weight: 4 },
    { arbitrary: edges.map((edge): Hex => `0x${word(edge)}`), weight: 1 },
  )
  const check = async (digest: Hex, mutate: (good: Hex) => Hex) => {
    const signature = mutate(await account.sign({ hash: digest }))
    if (!signature.endsWith('1b') && !signature.endsWith('1c')) return
    const expected = await recoverAddress({ hash: digest, signature }).then(
      (address) => address.toLowerCase(),
      () => undefined,
    )
    expect(recover(hexToBytes(digest), signature)).toBe(expected)
  }
  await fc.assert(fc.asyncProperty(digests, mutation, check), {
    numRuns: repetitions({ few: 300, many: 1500 }),
  })
})

test('recovery takes less than a fifth of the time of the JavaScript implementation, on every platform', async () => {
  const recover = createSignerRecovery(loadCurve(), keccak)
  const hash: Hex = `0x${'5a'.repeat(32)}`
  const digest = hexToBytes(hash)
  const signature = await account.sign({ hash })
  const cpuMicros = async (times: number, once: () => unknown) => {
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) await once()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / times
  }
  // Warms up both compilers.
  await cpuMicros(200, () => recover(digest, signature))
  await cpuMicros(30, () => recoverAddress({ hash, signature }))
  const ours = await cpuMicros(300, () => recover(digest, signature))
  const javascript = await cpuMicros(60, () => recoverAddress({ hash, signature }))
  expect(ours * 5).toBeLessThan(javascript)
})

test('a signature is accepted exactly if the token accepts it', async () => {
  const [, network] = NETWORKS
  const seller: Address = `0x${'aa'.repeat(20)}`
  await dev.mint(payer, 10n ** 12n)
  const signatures = createSignatures({ rpcUrl: dev.rpcUrl, network: network! })
  const check = async (nonce: Hex, mutate: (good: Hex) => Hex) => {
    const message = {
      from: payer,
      to: seller,
      value: '1000',
      validAfter: '0',
      validBefore: '99999999999',
      nonce,
    }
    const good = await account.signTypedData(authorizationTypedData(network!, message))
    const auth: SignedAuthorization = { ...message, signature: mutate(good) }
    const taken = await dev.client.call({ to: dev.usdc, data: encodeTransfer(auth) }).then(
      () => true,
      () => false,
    )
    expect((await signatures.check(auth)) === 'eoa').toBe(taken)
  }
  await fc.assert(fc.asyncProperty(hex(32), mutation, check), { numRuns: 400 })
})
