import fc from 'fast-check'
import { GatewayError } from '../../src/errors.ts'
import { createSpenderReader } from '../../src/transports/http/read-spender.ts'
import { headerSafe } from './mutate.ts'
import { fault, openTarget, type Target } from './target.ts'

const GOOD = 'Bearer good.token.here'
const NOW = Date.parse('2026-03-01T12:00:00Z')
const CLAIMS = {
  sub: `0x${'Aa'.repeat(20)}`,
  planId: 'basic',
  resourceId: 'default',
  jti: 'http-1',
  exp: NOW / 1000 + 60,
}

const schemes = fc.constantFrom(
  'Bearer ',
  'bearer ',
  'BEARER ',
  'Bearer',
  'Bearer\t',
  'Basic ',
  'Payment ',
  '',
)
const tokens = fc.oneof(
  fc.constantFrom(
    'good.token.here',
    'good.token.here ',
    ' good.token.here',
    'good.token.here, x',
    '',
    '..',
    'null',
  ),
  fc.string({ maxLength: 60 }),
)

/** `Authorization` of a prepaid call: only the very token that was checked says who spends, however often it is sent. */
export const prepaidTarget: Target = {
  name: 'prepaid-headers',
  share: 3,
  open: async () => {
    let checked = 0
    const read = createSpenderReader(
      async (authorization) => {
        checked++
        if (authorization.replace(/^Bearer /i, '') === 'good.token.here') return { ok: true, claims: CLAIMS }
        return { ok: false, error: new GatewayError('UNAUTHORIZED', 'no') }
      },
      undefined,
      () => NOW,
    )
    return openTarget({
      inputs: fc.tuple(schemes, tokens, fc.constantFrom('sign-in-with-x', 'x-other'), tokens),
      async check([scheme, token, name, other]) {
        const authorization = headerSafe(scheme + token)
        const headers = new Headers({ authorization, [name]: headerSafe(other) })
        const head = { authorization: headers.get('authorization'), proof: headers.get('sign-in-with-x') }
        const sent = headers.get('authorization') ?? ''
        const isBearer = /^bearer /i.test(sent)
        const reading = read(head, '/weather/paris')
        if (!reading) return isBearer ? fault(`nobody spends by ${sent}`) : 'none'
        if (!isBearer) fault(`somebody spends by ${sent}`)
        const before = checked
        const spender = await reading
        const again = await read(head, '/weather/paris')
        if (spender instanceof GatewayError) {
          if (!(again instanceof GatewayError) || checked === before) fault('a refused token was remembered')
          return 'refused'
        }
        if (sent.toLowerCase() !== GOOD.toLowerCase()) fault(`spends by ${sent}`)
        if (spender.account !== CLAIMS.sub.toLowerCase() || spender.purchase !== CLAIMS.jti)
          fault('another spends')
        return 'spends'
      },
    })
  },
}
