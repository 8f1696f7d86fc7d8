import { schemesSold } from '../../protocol/schemes-sold.ts'
import { paidIn } from '../name-networks.ts'
import { creditLines, granted, prepaid } from './credit-words.ts'
import { meteredToo, mppToo, refundsOf } from './guidance.ts'
import { code, link, plain } from './markdown.ts'
import { type Offer, paidRoutes, payToOn, routeBase } from './offer.ts'

/** `/llms.txt` (llmstxt.org): a title, a summary, and lists of links. */
export function llmsTxt(offer: Offer): string {
  const { discovery, baseUrl, networks } = offer
  const { agentName, description, plans } = discovery
  const routes = paidRoutes(offer)
  const free = discovery.routes.filter((route) => route.free)
  const at = (path: string) => `${baseUrl}${path}`
  const note = (text: string | undefined) => (text ? `. ${plain(text)}` : '')
  const base = routeBase(offer)
  const signed = schemesSold(discovery).includes('exact')
    ? 'sign an EIP-3009 authorization off-chain (no gas)'
    : 'sign the maximum off-chain'
  const sections: Array<[string, string[]]> = [
    [
      'Start here',
      [
        `- ${link('How to buy', at('/skills.md'))}: a walk-through with code that runs as it stands`,
        `- ${link('Catalog', at('/discover'))}: plans, routes, prices and the wallet that is paid, as JSON`,
        `- ${link('OpenAPI', at('/openapi.json'))}: every endpoint, its schemas and its price`,
      ],
    ],
    [
      'Networks: pay on any one of them',
      networks.length > 1
        ? networks.map(({ id, name, chainId, token }) => {
            const to = code(payToOn(discovery, id))
            return `- ${code(id)}: ${plain(name)}, chain id ${chainId}, ${plain(token.symbol)} ${code(token.address)}, paid to ${to}`
          })
        : [],
    ],
    [
      'Plans: one payment, then a bearer token',
      plans.map(
        ({ planId, unitAmount, credits, description: text }) =>
          `- ${link(code(planId), at('/x402/access'))}: ${unitAmount}${granted(credits)}, POST ${code(JSON.stringify({ planId, requestId: '<new UUID>' }))}${note(text)}`,
      ),
    ],
    [
      'Routes: one payment per call',
      routes.map(
        ({ routeId, method, path, price, credits, description: text }) =>
          `- ${link(code(routeId), base + path)}: ${price}${prepaid(credits)}, ${code(`${method} ${path}`)}${note(text)}`,
      ),
    ],
    ['Credits: calls that a plan has paid for', creditLines(offer).map((line) => `- ${line}`)],
    [
      'Free routes',
      free.map(
        ({ routeId, method, path, description: text }) =>
          `- ${link(code(routeId), base + path)}: ${code(`${method} ${path}`)}${note(text)}`,
      ),
    ],
    [
      'Other ways in',
      [
        ...(offer.a2a ? [`- ${link('Agent card', at('/.well-known/agent-card.json'))}: A2A`] : []),
        ...(offer.mcp
          ? [`- ${link('MCP server', at('/.well-known/mcp.json'))}: tools at ${at('/mcp')}`]
          : []),
      ],
    ],
    ['Optional', [`- ${link('x402 resources', at('/.well-known/x402'))}: for catalogs and crawlers`]],
  ]
  const summary = [
    `> ${plain(description)}`,
    '',
    `Paid in ${paidIn(networks)} by x402 version 2: ask, get a 402 with the terms, ${signed}, send the same request again with it in the ${code('payment-signature')} header. Always send a ${code('requestId')}; on 503 send the same payment again and never sign a new one.`,
    ...[mppToo(offer), meteredToo(offer), refundsOf(offer)].flatMap((part) =>
      part === undefined ? [] : ['', plain(part)],
    ),
  ]
  return [
    `# ${plain(agentName)}`,
    '',
    ...summary,
    ...sections.flatMap(([title, lines]) => (lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines])),
    '',
  ].join('\n')
}
