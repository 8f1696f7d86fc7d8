import { expect, test } from 'vitest'
import type { Rpc, RpcState } from '../../chain/rpc.ts'
import { UnavailableError } from '../../errors.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { createSignatures } from './signatures.ts'

const network = findNetwork('base')!
const account = (digit: string): Address => `0x${digit.repeat(40)}`
const auth = {
  ...{ from: account('a'), to: account('b'), value: '1', validAfter: '0', validBefore: '9999999999' },
  ...{ nonce: `0x${'7'.repeat(64)}` as Hex, signature: `0x${'11'.repeat(65)}` as Hex },
}

/** A node on which the payer has code, and a call of that code ends with this error. */
function check(message: string) {
  const rpc = {
    call: async () => '0x60ff',
    attempt: async () => ({ ok: false, error: { code: -32000, message } }),
  } as unknown as Rpc & RpcState
  return createSignatures({ rpc, network }).check(auth)
}

test.each([
  'return data out of bounds',
  'stack limit reached 1024 (1023)',
  'gas uint64 overflow',
  'max initcode size exceeded',
  'write protection',
  'contract address collision',
  'invalid opcode: INVALID',
])('code that ends with "%s" refuses the signature: it is no trouble of the node', async (message) => {
  expect(await check(message)).toHaveProperty('invalid')
})

test.each(['header not found', 'Internal error', 'request timed out'])(
  'a node that answers "%s" says nothing about the signature',
  async (message) => {
    await expect(check(message)).rejects.toThrow(UnavailableError)
  },
)
