import { spawn } from 'node:child_process'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AccessClaimsSchema } from '../src/delivery/access-claims.ts'
import { createJwtDelivery } from '../src/delivery/issue-jwt.ts'
import { publicJwks } from '../src/delivery/jwks.ts'
import { rsaKeys, sharedSecretKeys, type TokenKeys } from '../src/delivery/token-keys.ts'
import type { Order } from '../src/ports.ts'

const page = readFileSync(new URL('../docs/tokens.md', import.meta.url), 'utf8')
const RESOURCE = 'https://api.example.com/v1/weather'
const SECRET = 'a shared secret of more than thirty-two bytes'
const pem = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()
const rsa = rsaKeys(pem)

let folder: string
let gatewayUrl: string
const server = createServer((_request, response) => response.end(JSON.stringify(publicJwks(rsa))))
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  gatewayUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  folder = await mkdtemp(join(tmpdir(), 'paystile-tokens-'))
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  const [, code] = /```js\n([^`]*`[^`]*`[^`]*)```/.exec(page)!
  await writeFile(join(folder, 'verify-token.mjs'), code!)
  // Takes lists of [authorization, resource] and says of each what the example said.
  const ask = `
    import { verifyToken } from './verify-token.mjs'
    const answers = []
    for (const asked of JSON.parse(process.env.ASKED)) {
      answers.push(await verifyToken(...asked).catch((error) => ({ refused: error.code ?? error.message })))
    }
    console.log(JSON.stringify(answers))`
  await writeFile(join(folder, 'ask.mjs'), ask)
})
afterAll(async () => {
  server.close().closeAllConnections()
  await rm(folder, { recursive: true, force: true })
})

/** A token as the gateway makes it. */
async function tokenBy(keys: TokenKeys, change: { paidAt?: number; issuer?: string } = {}) {
  const delivery = createJwtDelivery({
    keys,
    issuer: change.issuer ?? gatewayUrl,
    tokenTtlSeconds: 3600,
    plans: [{ planId: 'basic' }],
    places: {
      resourceEndpoint: 'https://api.example.com/v1/{resourceId}',
      explorerTxUrl: () => 'https://x/',
    },
  })
  const order: Order = {
    challengeId: 'http-1',
    requestId: 'r-1',
    kind: 'plan',
    itemId: 'basic',
    resourceId: 'weather',
    resource: null,
    payer: `0x${'ab'.repeat(20)}`,
    amount: '1000000',
    network: 'eip155:84532',
    txHash: `0x${'cd'.repeat(32)}`,
    clientAgentId: null,
    paidAt: change.paidAt ?? Date.now(),
  }
  const delivered = await delivery.deliver(order)
  if (delivered.kind !== 'delivered') throw new Error(delivered.reason)
  const grant = await delivery.open(order, delivered.sealed)
  return `Bearer ${grant.accessToken}`
}

async function verify(asked: Array<[string | undefined, string]>, secret?: string): Promise<unknown[]> {
  const child = spawn(process.execPath, ['ask.mjs'], {
    cwd: folder,
    env: { PAYSTILE_URL: gatewayUrl, ASKED: JSON.stringify(asked), ...(secret && { TOKEN_SECRET: secret }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const chunk of child.stdout) said += chunk
  return JSON.parse(said)
}

test('docs/tokens.md names exactly the claims that every token has', () => {
  const section = page.slice(page.indexOf('| claim |'), page.indexOf('Check four things'))
  const named = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, claim]) => claim)
  expect(named.sort()).toEqual(Object.keys(AccessClaimsSchema.shape).sort())
})

describe.each([
  ['RS256, by the published keys', rsa, undefined],
  ['HS256, by the shared secret', sharedSecretKeys(SECRET), SECRET],
] as const)("docs/tokens.md's code for Node: %s", (_name, keys, secret) => {
  test('takes our token for the address that it was sold for, and nothing else', async () => {
    const good = await tokenBy(keys)
    const [, claims] = good.split('.')
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
    const [head] = good.slice('Bearer '.length).split('.')
    const forged = createHmac('sha256', pem).update(`${head}.${claims}`).digest('base64url')
    const answers = await verify(
      [
        [good, RESOURCE],
        [good, 'https://api.example.com/v1/other'],
        [await tokenBy(keys, { issuer: 'https://elsewhere.example' }), RESOURCE],
        [await tokenBy(keys, { paidAt: Date.now() - 7_200_000 }), RESOURCE],
        [`Bearer ${unsigned}`, RESOURCE],
        [`Bearer ${head}.${claims}.${forged}`, RESOURCE],
        [await tokenBy(secret ? rsa : sharedSecretKeys(SECRET)), RESOURCE],
        ['Basic abc', RESOURCE],
      ],
      secret,
    )
    const [first, ...others] = answers
    expect(AccessClaimsSchema.parse(first)).toMatchObject({
      aud: RESOURCE,
      planId: 'basic',
      resourceId: 'weather',
    })
    expect(others).toEqual(Array.from({ length: 7 }, () => ({ refused: expect.any(String) })))
  })
})
