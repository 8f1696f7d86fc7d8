import { dollarsToMicro, MICRO_PER_DOLLAR } from '../../protocol/amount.ts'
import { ERROR_CODES } from '../../protocol/error-codes.ts'
import type { Network } from '../../protocol/network.ts'
import { isMetered, schemesSold } from '../../protocol/schemes-sold.ts'
import { paidIn } from '../name-networks.ts'
import { creditLines, sellsCredits } from './credit-words.ts'
import { errorCodesOf } from './error-codes-of.ts'
import { meteredToo, mppToo, refundsOf } from './guidance.ts'
import { code, fenced, link, oneLine, plain } from './markdown.ts'
import { type Offer, paidRoutes, routeBase } from './offer.ts'
import { officialCode, officialCommand, payCode, planCode, routeCode, routeCommand } from './skill-code.ts'
import { meteredCalls } from './skill-metered.ts'

const MAX_DESCRIPTION = 1024

/** `/skills.md`: an Agent Skill that can be followed to the letter; its code runs as it stands. */
export function skillsMd(offer: Offer): string {
  const { discovery, networks } = offer
  const { plans } = discovery
  const routes = paidRoutes(offer)
  const [plan] = plans
  const route = routes.find((one) => !isMetered(one))
  const hasExact = schemesSold(discovery).includes('exact')
  const title = plain(discovery.agentName)
  const credits = sellsCredits(offer)
  return `${[
    frontMatter(offer),
    `# Buy from ${title}`,
    plain(discovery.description),
    `Prices are in ${paidIn(networks, ({ id, name }) => `${code(id)} (${plain(name)})`)}. You sign each payment off-chain${hasExact ? ' (EIP-3009)' : ''}; the seller sends it and pays the gas. There is no account and no API key.`,
    ...[mppToo(offer), meteredToo(offer)].map((part) => part !== undefined && plain(part)),
    plans.length > 0 &&
      table(
        '## Plans: one payment, then a bearer token',
        ['planId', 'price', ...(credits ? ['credits granted'] : []), ''],
        plans.map(({ planId, unitAmount, credits: grants = 0, description = '' }) => [
          code(planId),
          unitAmount,
          ...(credits ? [String(grants)] : []),
          plain(description),
        ]),
      ),
    routes.length > 0 &&
      table(
        '## Routes: one payment per call',
        ['routeId', 'call', 'price', ...(credits ? ['or credits'] : []), ''],
        routes.map(({ routeId, method, path, price, credits: cost, description = '' }) => [
          code(routeId),
          code(`${method} ${routeBase(offer)}${path}`),
          price,
          ...(credits ? [cost === undefined ? '–' : String(cost)] : []),
          plain(description),
        ]),
      ),
    '## Before you start',
    `You need Node.js 20 or newer, a wallet that holds ${holdings(networks, hasExact)}, and its private key in the environment variable ${code('BUYER_PRIVATE_KEY')}.`,
    hasExact && ['The code below needs one package:', fenced('sh', 'npm install viem')],
    hasExact &&
      networks.length > 1 &&
      `The code below pays on the first network of the offer that is in its list ${code('expected')}: take those out where your wallet holds nothing.`,
    hasExact && [`Save as ${code('pay.mjs')}:`, fenced('js', payCode(offer))],
    plan && [
      '## Buy a plan',
      `This buys ${code(plan.planId)} for ${plan.unitAmount} and calls the resource with the token. Save as ${code('buy-plan.mjs')}:`,
      fenced('js', planCode(offer, plan)),
      fenced('sh', 'node buy-plan.mjs'),
    ],
    route && [
      '## Pay for one call',
      `This pays ${route.price} for ${code(`${route.method} ${route.path}`)}. ${
        offer.servesRoutes && !route.raw
          ? `The answer is a ResourceResponse: the seller's answer is in its ${code('resource')}.`
          : "The answer is the seller's own."
      } Save as ${code('call-route.mjs')}:`,
      fenced('js', routeCode(offer, route)),
      fenced('sh', routeCommand(route)),
    ],
    meteredCalls(offer),
    credits && [
      '## Spend credits',
      creditLines(offer)
        .map((line) => `- ${line}`)
        .join('\n'),
    ],
    rules(offer),
    officialClients(offer),
    errors(offer),
    more(offer),
  ]
    .flat()
    .filter((part) => typeof part === 'string')
    .join('\n\n')}\n`
}

/** What a buyer's wallet needs, on one of the networks. */
function holdings(networks: readonly Network[], hasExact: boolean): string {
  const held = networks.map(({ token, chainId, name, native }) => {
    const where = networks.length > 1 ? `${plain(name)}, chain ${chainId}` : `chain ${chainId}`
    return `${plain(token.symbol)} (token ${code(token.address)} on ${where}; ${hasExact ? `no ${networks.length > 1 ? 'gas' : 'ETH'} is needed` : `and some ${plain(native.symbol)} for one approval`})`
  })
  return held.join(' or ')
}

/** JSON strings are YAML strings: no text of the seller's can end them, or the front matter. */
function frontMatter({ discovery, networks }: Offer): string {
  const { agentName, description } = discovery
  const slug = agentName
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '')
  const what = oneLine(`${agentName}: ${description}`).replace(/[<>]/g, '')
  const when = `Use when you want to buy access to it, or pay for a call, with ${paidIn(networks, ({ id }) => id)} by x402.`
  const room = MAX_DESCRIPTION - when.length - 2
  const summary = `${[...what].slice(0, room).join('').replace(/\.$/, '')}. ${when}`.slice(-MAX_DESCRIPTION)
  return [
    '---',
    `name: ${slug === '' ? 'buy-access' : `buy-from-${slug}`}`,
    `description: ${JSON.stringify(summary)}`,
    '---',
  ].join('\n')
}

function table(heading: string, columns: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [heading, '', line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n')
}

function rules(offer: Offer): string {
  const { baseUrl } = offer
  const refunds = refundsOf(offer)
  return `## Never pay twice

- Send a new ${code('requestId')} with every purchase and the same one with every retry: in the body of ${code('POST /x402/access')}, or as the ${code('Idempotency-Key')} header of a direct call.
- 503 ${code('SETTLEMENT_PENDING')} means that the payment may be on its way. Wait for ${code('Retry-After')} seconds and send the same ${code('payment-signature')} again. Never sign a new one.
- The same payment sent again after success brings the same result, marked ${code('x-svc-code: PROOF_ALREADY_REDEEMED')}, and costs nothing.
- ${code(`GET ${baseUrl}/x402/challenges/<challengeId>`)} tells how a purchase stands.${refunds === undefined ? '' : `\n- ${plain(refunds)}`}`
}

function officialClients(offer: Offer): string {
  const { plans } = offer.discovery
  const routes = paidRoutes(offer)
  const first = plans[0] ?? routes.find((route) => !isMetered(route)) ?? routes[0]
  const prices = [...plans.map(({ unitAmount }) => unitAmount), ...routes.map(({ most }) => most)]
  const micro = (price: string) => dollarsToMicro(price)
  const highest = prices.reduce((one, other) => (micro(other) > micro(one) ? other : one), '$1.00')
  const above = micro(highest) > MICRO_PER_DOLLAR ? ` The highest price here is ${highest}.` : ''
  return [
    '## With the official x402 client',
    `${code('@x402/fetch')} buys here as it is. It refuses any payment above $1 unless ${code('setSpendControls')} raises its limit.${above}`,
    ...(first
      ? [
          fenced('sh', 'npm install @x402/fetch @x402/evm viem'),
          `Save as ${code('official.mjs')}:`,
          fenced('js', officialCode(offer, first, highest)),
          fenced('sh', officialCommand(first)),
        ]
      : []),
    `It never sends a payment again without being called, and signs a new one when called again: with the same ${code('requestId')}, or an id by the ${code('payment-identifier')} extension, the second signature is not charged.`,
  ].join('\n\n')
}

function errors(offer: Offer): string {
  const rows = errorCodesOf(offer).map((name) => {
    const { httpStatus, when, fix } = ERROR_CODES[name]
    return [String(httpStatus), code(name), when, fix]
  })
  return table('## Errors', ['HTTP', 'code', 'when', 'what to do'], rows)
}

function more({ baseUrl, a2a, mcp }: Offer): string {
  const lines = [
    `- ${link('Catalog as JSON', `${baseUrl}/discover`)}`,
    `- ${link('OpenAPI 3.1', `${baseUrl}/openapi.json`)}`,
    ...(a2a ? [`- ${link('A2A agent card', `${baseUrl}/.well-known/agent-card.json`)}`] : []),
    ...(mcp ? [`- ${link('MCP server', `${baseUrl}/.well-known/mcp.json`)}`] : []),
  ]
  return `## More\n\n${lines.join('\n')}`
}
