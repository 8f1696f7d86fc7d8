import fc from 'fast-check'
import {
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  toEventSelector,
} from 'viem'
import { expect, test } from 'vitest'
import { encodeBalanceOf, NAME_CALL, TRANSFER_TOPIC, VERSION_CALL } from '../../chain/erc20.ts'
import {
  BLOCK_NUMBER_CALL,
  BLOCK_TIMESTAMP_CALL,
  decodeAggregate3,
  encodeAggregate3,
  encodeTryAggregate,
} from '../../chain/multicall.ts'
import { usdcAbi } from '../../testing/usdc-abi.ts'
import {
  CANCELED_TOPIC,
  EIP1271_AGREED,
  encodeAuthorizationState,
  encodeIsValidSignature,
  encodeTransfer,
  USED_TOPIC,
} from './token-calls.ts'

const multicallAbi = parseAbi([
  'struct Call { address target; bytes callData; }',
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] results)',
  'function tryAggregate(bool requireSuccess, Call[] calls) payable returns (Result[] results)',
  'function getBlockNumber() view returns (uint256)',
  'function getCurrentBlockTimestamp() view returns (uint256)',
])
const walletAbi = parseAbi([
  'function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)',
])

const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`)
const address: fc.Arbitrary<Address> = bytes(20, 20)
const uint = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

test('calldata of a transfer is the same as with viem, for any fields and any length of signature', () => {
  fc.assert(
    fc.property(
      address,
      address,
      uint,
      uint,
      uint,
      bytes(32, 32),
      fc.oneof(bytes(1, 200), bytes(65, 65)),
      (from, to, value, validAfter, validBefore, nonce, signature) => {
        const ours = encodeTransfer({
          from,
          to,
          value: `${value}`,
          validAfter: `${validAfter}`,
          validBefore: `${validBefore}`,
          nonce,
          signature,
        })
        const [r, s, v] = [signature.slice(0, 66), `0x${signature.slice(66, 130)}`, signature.slice(130)]
        const signed = signature.length === 132 ? [Number(`0x${v}`), r as Hex, s as Hex] : [signature]
        const args = [from, to, value, validAfter, validBefore, nonce, ...signed] as never
        expect(ours).toBe(
          encodeFunctionData({ abi: usdcAbi, functionName: 'transferWithAuthorization', args }),
        )
      },
    ),
  )
})

test('a number above uint256 is refused, not truncated', () => {
  const auth = {
    from: '0x',
    to: '0x',
    value: '0',
    validAfter: '9'.repeat(78),
    validBefore: '0',
    nonce: '0x',
    signature: '0x',
  } as const
  expect(() => encodeTransfer(auth)).toThrow(RangeError)
})

test('calldata of the small calls is the same as with viem', () => {
  fc.assert(
    fc.property(address, bytes(32, 32), bytes(0, 100), (payer, word, signature) => {
      expect(encodeAuthorizationState(payer, word)).toBe(
        encodeFunctionData({ abi: usdcAbi, functionName: 'authorizationState', args: [payer, word] }),
      )
      expect(encodeBalanceOf(payer)).toBe(
        encodeFunctionData({ abi: usdcAbi, functionName: 'balanceOf', args: [payer] }),
      )
      expect(encodeIsValidSignature(word, signature)).toBe(
        encodeFunctionData({ abi: walletAbi, functionName: 'isValidSignature', args: [word, signature] }),
      )
    }),
  )
  expect(NAME_CALL).toBe(encodeFunctionData({ abi: usdcAbi, functionName: 'name' }))
  expect(VERSION_CALL).toBe(encodeFunctionData({ abi: usdcAbi, functionName: 'version' }))
  expect(BLOCK_NUMBER_CALL).toBe(encodeFunctionData({ abi: multicallAbi, functionName: 'getBlockNumber' }))
  expect(BLOCK_TIMESTAMP_CALL).toBe(
    encodeFunctionData({ abi: multicallAbi, functionName: 'getCurrentBlockTimestamp' }),
  )
  expect(EIP1271_AGREED).toBe(
    encodeFunctionResult({ abi: walletAbi, functionName: 'isValidSignature', result: '0x1626ba7e' }),
  )
  expect(TRANSFER_TOPIC).toBe(toEventSelector('Transfer(address,address,uint256)'))
  expect(USED_TOPIC).toBe(toEventSelector('AuthorizationUsed(address,bytes32)'))
  expect(CANCELED_TOPIC).toBe(toEventSelector('AuthorizationCanceled(address,bytes32)'))
})

test('a Multicall3 call and its answer are the same as with viem', () => {
  const calls = fc.array(fc.record({ to: address, data: bytes(0, 150) }), { maxLength: 8 })
  fc.assert(
    fc.property(calls, (list) => {
      const args = [list.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))] as const
      expect(encodeAggregate3(list)).toBe(
        encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args }),
      )
      const tried = [false, list.map(({ to, data }) => ({ target: to, callData: data }))] as const
      expect(encodeTryAggregate(list)).toBe(
        encodeFunctionData({ abi: multicallAbi, functionName: 'tryAggregate', args: tried }),
      )
    }),
  )
  const results = fc.array(fc.record({ success: fc.boolean(), returnData: bytes(0, 150) }), { maxLength: 8 })
  fc.assert(
    fc.property(results, (result) => {
      const data = encodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', result })
      const ours = decodeAggregate3(data, result.length)
      const theirs = decodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', data })
      expect(ours).toEqual(theirs.map(({ success, returnData }) => ({ ok: success, data: returnData })))
    }),
  )
})

test('an answer that is not from Multicall3 is recognised, however malformed', () => {
  expect(decodeAggregate3('0x', 1)).toBeUndefined()
  fc.assert(
    fc.property(bytes(0, 400), fc.integer({ min: 1, max: 5 }), (data, count) => {
      expect(decodeAggregate3(data, count)).toBeUndefined()
    }),
  )
})
