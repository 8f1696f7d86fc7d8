import { dollarsToMicro } from '../../protocol/amount.ts'
import { isMetered } from '../../protocol/schemes-sold.ts'
import { type Offer, type PaidRoute, type Plan, payToOn, routeBase } from './offer.ts'

// JSON is JavaScript: whatever a URL or path holds, it stays within its quotes.
const js = (value: unknown): string => JSON.stringify(value)

const limit = (unitAmount: string): string => `${dollarsToMicro(unitAmount)}n // ${unitAmount}`

/** `pay.mjs` of the walk-through: asks, signs once, and sends that one payment until it is decided. */
export function payCode({ networks, discovery }: Offer): string {
  const expected = networks.map(({ id, chainId, token }) => {
    return `  {
    network: ${js(id)},
    asset: ${js(token.address)},
    payTo: ${js(payToOn(discovery, id))},
    decimals: ${token.decimals},
    domain: { name: ${js(token.domain.name)}, version: ${js(token.domain.version)}, chainId: ${chainId} },
  },`
  })
  return `import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_PRIVATE_KEY)
const expected = [
${expected.join('\n')}
]
const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

const same = (one, other) => String(one).toLowerCase() === other.toLowerCase()
const termsOf = ({ scheme, network, asset, payTo }) =>
  scheme === 'exact' &&
  expected.find((known) => same(network, known.network) && same(asset, known.asset) && same(payTo, known.payTo))

async function sign(asked, maxMicro) {
  const required = JSON.parse(Buffer.from(asked.headers.get('payment-required'), 'base64').toString())
  const accepted = required.accepts.find(termsOf)
  if (!accepted) throw new Error(\`unexpected terms: \${JSON.stringify(required.accepts)}\`)
  const known = termsOf(accepted)
  const most = (maxMicro * 10n ** BigInt(known.decimals)) / 1000000n
  if (BigInt(accepted.amount) > most) throw new Error(\`\${accepted.amount} is above the limit of \${most}\`)
  const authorization = {
    from: account.address,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + 300),
    nonce: \`0x\${randomBytes(32).toString('hex')}\`,
  }
  const message = { ...authorization }
  for (const field of ['value', 'validAfter', 'validBefore']) message[field] = BigInt(authorization[field])
  const domain = { ...known.domain, verifyingContract: known.asset }
  const primaryType = 'TransferWithAuthorization'
  const signature = await account.signTypedData({ domain, types, primaryType, message })
  const payment = { x402Version: 2, accepted, payload: { signature, authorization } }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

/** Sends a request and pays for it once. The payment is kept in a file: after a crash, run again with the same requestId. */
export async function payFor(url, init, { requestId, maxMicro }) {
  const file = \`payment-\${requestId}.txt\`
  if (!existsSync(file)) {
    const asked = await fetch(url, init)
    if (asked.status !== 402) return asked
    writeFileSync(file, await sign(asked, maxMicro), { mode: 0o600 })
  }
  const headers = { ...init.headers, 'payment-signature': readFileSync(file, 'utf8') }
  for (let attempt = 1; attempt <= 60; attempt++) {
    const answer = await fetch(url, { ...init, headers, redirect: 'manual' }).catch(() => undefined)
    const final = answer?.headers.get('x-svc-code') === 'DELIVERY_FAILED' || answer?.status < 500
    if (final && answer.status !== 429) {
      // For certain not paid: the next run may sign anew.
      if (answer.status === 402 || answer.status === 410) rmSync(file)
      return answer
    }
    // It may be on its way: send this very payment again, never a new one.
    const seconds = Number(answer?.headers.get('retry-after'))
    await sleep(1000 * (seconds > 0 ? Math.min(60, seconds) : 2))
  }
  throw new Error(\`not decided yet: run again with REQUEST_ID=\${requestId}\`)
}`
}

const head = `import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { payFor } from './pay.mjs'

const requestId = process.env.REQUEST_ID ?? randomUUID()
console.error(\`requestId \${requestId}\`)`

/** Buys a plan and uses its token. */
export function planCode({ baseUrl }: Offer, { planId, unitAmount }: Plan): string {
  return `${head}

const url = ${js(`${baseUrl}/x402/access`)}
const maxMicro = ${limit(unitAmount)}
const body = JSON.stringify({ planId: ${js(planId)}, resourceId: 'default', requestId })
const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }

const answer = await payFor(url, init, { requestId, maxMicro })
const grant = await answer.json()
if (answer.status !== 200) throw new Error(\`\${answer.status} \${JSON.stringify(grant)}\`)
writeFileSync('grant.json', JSON.stringify(grant), { mode: 0o600 })
console.error(\`paid by transaction \${grant.txHash}; the token is in grant.json, good until \${grant.expiresAt}\`)

const headers = { authorization: \`\${grant.tokenType} \${grant.accessToken}\` }
const resource = await fetch(grant.resourceEndpoint, { headers })
console.log(resource.status, await resource.text())`
}

const paramsOf = (path: string): string[] =>
  path.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []))

/** How `call-route.mjs` is run: a value for every parameter, so that nobody pays for a call of `:city`. */
export function routeCommand({ path }: PaidRoute): string {
  return ['node call-route.mjs', ...paramsOf(path).map((name) => `YOUR_${name.toUpperCase()}`)].join(' ')
}

/** The URL of a route as an expression, and what reads the values of its parameters. */
function routeTarget(offer: Offer, { path }: PaidRoute, command: string): { url: string; values: string } {
  const names = paramsOf(path)
  let used = 0
  const target = path
    .split(/(?<=\/)(?=:)|(?=\/)/)
    .map((part) => (part.startsWith(':') ? `encodeURIComponent(values[${used++}])` : js(part)))
  const url = [js(routeBase(offer)), ...target].join(' + ').replaceAll('" + "', '')
  if (names.length === 0) return { url, values: '' }
  const values = `
const values = process.argv.slice(2) // ${names.join(', ')}
if (values.length !== ${names.length}) throw new Error(${js(`usage: ${command}`)})`
  return { url, values }
}

/** Pays for one call of a route. */
export function routeCode(offer: Offer, route: PaidRoute): string {
  const { method, most } = route
  const { url, values } = routeTarget(offer, route, routeCommand(route))
  return `${head}
${values}
const url = ${url}
const maxMicro = ${limit(most)}
const init = { method: ${js(method)}, headers: { 'idempotency-key': requestId } }${bodyHint(method)}

const answer = await payFor(url, init, { requestId, maxMicro })
const text = await answer.text()
writeFileSync('answer.txt', text)
console.log(answer.status, text)`
}

const bodyHint = (method: string): string =>
  method === 'GET' || method === 'DELETE' ? '' : " // and the body that the call needs: body: '…'"

/** How `official.mjs` is run. */
export function officialCommand(what: Plan | PaidRoute): string {
  const params = 'planId' in what ? [] : paramsOf(what.path)
  return ['node official.mjs', ...params.map((name) => `YOUR_${name.toUpperCase()}`)].join(' ')
}

/** The same purchase by the official client, whole: `maxAmount` is the limit that it is given. */
export function officialCode(offer: Offer, what: Plan | PaidRoute, maxAmount: string): string {
  const { url, values, init } = officialRequest(offer, what)
  const scheme = 'path' in what && isMetered(what) ? 'UptoEvmScheme' : 'ExactEvmScheme'
  const registered = offer.networks.map(({ id }) => `  .register(${js(id)}, new ${scheme}(account))`)
  return `import { randomUUID } from 'node:crypto'
import { ${scheme} } from '@x402/evm${scheme === 'UptoEvmScheme' ? '/upto/client' : ''}'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_PRIVATE_KEY)
const client = new x402Client()
${registered.join('\n')}
  .setSpendControls({ maxAmountPerPayment: ${js(maxAmount)} })
const pay = wrapFetchWithPayment(fetch, client)

const requestId = process.env.REQUEST_ID ?? randomUUID()
console.error(\`requestId \${requestId}\`)${values}
const answer = await pay(${url}, ${init})
console.log(answer.status, await answer.text())`
}

function officialRequest(
  offer: Offer,
  what: Plan | PaidRoute,
): { url: string; values: string; init: string } {
  if ('planId' in what) {
    const init = `{
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ planId: ${js(what.planId)}, requestId }),
}`
    return { url: js(`${offer.baseUrl}/x402/access`), values: '', init }
  }
  const init = `{
  method: ${js(what.method)},
  headers: { 'idempotency-key': requestId },${bodyHint(what.method)}
}`
  return { ...routeTarget(offer, what, officialCommand(what)), init }
}
