import { expect, test } from 'vitest'
import { createVerifyAccess } from './verify-access.ts'

test('a misspelt option is its caller’s mistake: ignored, it would let in whoever has any token', async () => {
  const verifyAccess = createVerifyAccess({ verifyBearer: async () => ({ ok: true, claims: {} }) })
  const request = new Request('http://gate.example/resource/weather')
  await expect(verifyAccess(request, { planID: 'pro' } as object)).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: 'verifyAccess: planID is not an option; did you mean "planId"?',
  })
  expect(await verifyAccess(request, { planId: undefined })).toMatchObject({ ok: true })
})
