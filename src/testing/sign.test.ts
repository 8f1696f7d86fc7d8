import { recoverTypedDataAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { paymentHeader, paymentPayload, signAuthorization } from './sign.ts'

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const requirements = {
  scheme: 'exact',
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '1000000',
  payTo: '0x00000000000000000000000000000000000000AA',
  maxTimeoutSeconds: 900,
  extra: { name: 'USDC', version: '2', challengeId: 'http-1' },
} as const

const fields = [
  'from:address',
  'to:address',
  'value:uint256',
  'validAfter:uint256',
  'validBefore:uint256',
  'nonce:bytes32',
]

test('the account signs exactly the fields of EIP-3009', async () => {
  const { authorization, signature } = await signAuthorization({ account, requirements, nowSeconds: 1_000 })
  expect(authorization).toMatchObject({
    from: account.address,
    to: requirements.payTo,
    value: '1000000',
    validAfter: '0',
    validBefore: '1300',
  })
  const signer = await recoverTypedDataAddress({
    domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: requirements.asset },
    types: {
      TransferWithAuthorization: fields.map((field) => {
        const [name, type] = field.split(':')
        return { name: name!, type: type! }
      }),
    },
    primaryType: 'TransferWithAuthorization',
    message: authorization,
    signature,
  })
  expect(signer).toBe(account.address)
})

test('every authorization has a nonce of its own', async () => {
  const signed = await Promise.all(
    Array.from({ length: 20 }, () => signAuthorization({ account, requirements })),
  )
  expect(new Set(signed.map(({ authorization }) => authorization.nonce)).size).toBe(20)
})

test('a header decodes to the payload, and an override can remove a field', async () => {
  const signed = await signAuthorization({ account, requirements })
  const payload = paymentPayload({ accepted: requirements, ...signed })
  const decode = (header: string, encoding: 'base64' | 'base64url') =>
    JSON.parse(Buffer.from(header, encoding).toString())
  expect(decode(paymentHeader({ accepted: requirements, ...signed }), 'base64')).toEqual(payload)
  const bare = paymentHeader({
    accepted: requirements,
    ...signed,
    encoding: 'base64url',
    overrides: { network: undefined, x402Version: 1 },
  })
  expect(bare).not.toMatch(/[+/=]/)
  const { network: _, ...rest } = payload
  expect(decode(bare, 'base64url')).toEqual({ ...rest, x402Version: 1 })
})
