import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { createCdpAuthHeaders } from './cdp-auth.ts'

const url = 'https://api.cdp.coinbase.com/platform/v2/x402'
const ed25519 = generateKeyPairSync('ed25519')
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const jwk = ed25519.privateKey.export({ format: 'jwk' })
const edSecret = Buffer.concat([Buffer.from(jwk.d!, 'base64url'), Buffer.from(jwk.x!, 'base64url')]).toString(
  'base64',
)
const ecSecret = ec.privateKey.export({ format: 'pem', type: 'sec1' }).toString()

test.each([
  ['Ed25519', edSecret, ed25519.publicKey, 'EdDSA'],
  ['EC', ecSecret, ec.publicKey, 'ES256'],
  ['EC with escaped line breaks', ecSecret.replaceAll('\n', '\\n'), ec.publicKey, 'ES256'],
])(
  'a token of an %s key is good for one endpoint and two minutes',
  async (_, apiKeySecret, publicKey, alg) => {
    const headers = await createCdpAuthHeaders({ url, apiKeyId: 'key-1', apiKeySecret })()
    const read = (token: string) =>
      jwtVerify(
        token.replace('Bearer ', ''),
        createPublicKey(publicKey.export({ format: 'pem', type: 'spki' })),
        { issuer: 'cdp', audience: 'cdp_service', subject: 'key-1' },
      )
    const { payload, protectedHeader } = await read(headers.settle.Authorization)
    expect(protectedHeader).toMatchObject({
      alg,
      kid: 'key-1',
      typ: 'JWT',
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(payload.uris).toEqual(['POST api.cdp.coinbase.com/platform/v2/x402/settle'])
    expect(payload.exp! - payload.nbf!).toBe(120)
    expect((await read(headers.supported.Authorization)).payload.uris).toEqual([
      'GET api.cdp.coinbase.com/platform/v2/x402/supported',
    ])
  },
)

test.each(['', 'short', '-----BEGIN EC PRIVATE KEY-----\nnonsense\n-----END EC PRIVATE KEY-----'])(
  'a bad secret (%j) is one clear line that does not repeat it',
  (apiKeySecret) => {
    const make = () => createCdpAuthHeaders({ url, apiKeyId: 'key-1', apiKeySecret })
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(/^CDP_API_KEY_SECRET is no CDP key/)
    expect(make).not.toThrow(/nonsense|short/)
  },
)
