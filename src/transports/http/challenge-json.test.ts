import { expect, test } from 'vitest'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { createChallengeJson } from './challenge-json.ts'

function offer(
  changes: Partial<PaymentRequired> = {},
  extra: Record<string, string | undefined> = {},
): PaymentRequired {
  const challengeId = `http-${Math.random()}`
  const requestId = `req-${Math.random()}`
  return {
    x402Version: 2,
    error: 'Payment required',
    resource: {
      url: 'http://localhost/x402/access',
      method: 'POST',
      description: 'Größe "1"',
      mimeType: 'application/json',
    },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:84532',
        asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
        amount: '10000',
        payTo: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
        maxTimeoutSeconds: 900,
        extra: {
          ...{ name: 'USDC', version: '2', description: 'Größe "1"', planId: 'basic' },
          ...{ challengeId, requestId, resourceId: 'default', salt: `salt-${Math.random()}` },
          ...extra,
        },
      },
    ],
    challengeId,
    requestId,
    ...changes,
  }
}

const at = (url: string) => offer({ resource: { ...offer().resource, url } })

test('it writes what JSON.stringify writes, the first time and every other', () => {
  const jsonOf = createChallengeJson()
  const dearer = offer()
  dearer.accepts[0]!.amount = '20000'
  const strangeName = offer({ requestId: 'a"b\\\u0001' })
  const offers = [
    ...[offer(), offer(), offer({ error: 'paid already' }), offer(), dearer, offer(), strangeName, offer()],
    offer({}, { planId: undefined, routeId: 'weather' }),
    offer({}, { planId: undefined, routeId: 'weather' }),
    offer({}, { planId: undefined, routeId: 'basic' }),
    offer(),
    at('http://localhost/weather/lisbon?a="b\\c'),
    at('http://localhost/größe/😀?x=1&y=%22'),
    offer({}, { salt: '"' }),
    offer({}, { resourceId: 'other' }),
    offer({}, { planId: 'other' }),
  ]
  for (const required of offers) {
    const { open, isAscii } = jsonOf(required)
    const json = `${open}}`
    expect(json).toBe(JSON.stringify(required))
    if (isAscii) expect(Buffer.byteLength(json)).toBe(json.length)
  }
})
