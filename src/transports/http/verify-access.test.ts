import { expect, test } from 'vitest'
import { GatewayError, UnavailableError } from '../../errors.ts'
import { createVerifyAccess } from './verify-access.ts'

test('a misspelt option is its caller’s mistake: ignored, it would let in whoever has any token', async () => {
  const verifyAccess = createVerifyAccess({
    verifyBearer: async () => ({ ok: true, claims: {} }),
    whyEnded: async () => undefined,
  })
  const request = new Request('http://gate.example/resource/weather')
  await expect(verifyAccess(request, { planID: 'pro' } as object)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: 'verifyAccess: planID is not an option; did you mean "planId"?',
  })
  expect(await verifyAccess(request, { planId: undefined })).toMatchObject({ ok: true })
})

test('a token whose purchase has ended enters no more, and neither does one that cannot be looked up', async () => {
  const request = new Request('http://gate.example/resource/weather')
  const verifyBearer = async () => ({ ok: true as const, claims: {} })
  const ended = new GatewayError('UNAUTHORIZED', 'closed')
  const refusing = createVerifyAccess({ verifyBearer, whyEnded: async () => ended })
  expect(await refusing(request)).toEqual({ ok: false, error: ended })
  const errors: unknown[] = []
  const blind = createVerifyAccess({
    verifyBearer,
    whyEnded: () => Promise.reject(new UnavailableError('the store')),
    onError: (error) => void errors.push(error),
  })
  expect(await blind(request)).toMatchObject({ ok: false, error: { code: 'SETTLEMENT_PENDING' } })
  expect(errors.length).toBe(1)
})
