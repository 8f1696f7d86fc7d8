import { expect, test } from 'vitest'
import { UPTO_PROXY_ADDRESS } from '../../protocol/permit2.ts'
import type { SignedPermit } from './permit.ts'
import { uptoRules } from './upto-rules.ts'

test('a permit is still good in the second of its deadline, in which a chain may make several blocks', () => {
  const permit: SignedPermit = {
    from: `0x${'aa'.repeat(20)}`,
    token: `0x${'bb'.repeat(20)}`,
    amount: '1000',
    spender: UPTO_PROXY_ADDRESS,
    nonce: '7',
    deadline: '1750000000',
    to: `0x${'cc'.repeat(20)}`,
    facilitator: `0x${'dd'.repeat(20)}`,
    validAfter: '0',
    signature: '0x',
  }
  expect(uptoRules({ chainId: 8453 }).factsOf(permit).validBefore).toBe('1750000001')
})
