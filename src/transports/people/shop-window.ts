import { createHash } from 'node:crypto'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import { headerOf } from '../http/native-request.ts'
import { escapeHtml } from '../http/render-receipt.ts'
import type { Reply } from '../http/reply.ts'
import { planPath } from '../http/serve-plans.ts'
import { granted, prepaid, sellsCredits } from '../onboarding/credit-words.ts'
import { type PaidRoute, type Plan, paidRoutes, payToOn, routeBase } from '../onboarding/offer.ts'
import { createPageFrame, type Seller } from './page-frame.ts'
import { type ReadyText, readyTexts, type TextParts } from './shop-texts.ts'

/** Answers with the page, or with 304 to whoever has it. */
export type ShopWindow = (request: Request) => Reply

export interface ShopParts extends TextParts {
  seller: Seller
  /** A plan has a page at which a wallet pays for it. */
  sellsPlansByHand: boolean
}

/** Without scripts the texts are selected by hand; with them, each gets a button. */
const SCRIPT = `for (const box of document.querySelectorAll('.copied')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'tiny'
  const say = (word) => {
    button.textContent = word
    button.setAttribute('aria-label', word + ': ' + box.dataset.title)
  }
  say('Copy')
  button.addEventListener('click', async () => {
    const text = box.querySelector('pre')
    try {
      await navigator.clipboard.writeText(text.textContent)
      say('Copied')
    } catch {
      getSelection().selectAllChildren(text)
      say('Selected')
    }
    setTimeout(() => say('Copy'), 2000)
  })
  box.prepend(button)
}`

/** The page that says to people what is sold and how to buy it: made here, once. */
export function createShopWindow(parts: ShopParts): ShopWindow {
  const frame = createPageFrame(parts.seller)
  const { seller, discovery } = parts
  const body = `${frame.open(seller.name, 'h1')}<main>
<section class="card">
<p>${escapeHtml(discovery.description)}</p>
${networks(parts)}
</section>
${catalog(parts)}
${howToBuy(parts)}
</main>
<footer class="soft small">${links(parts)}</footer>
${frame.close(SCRIPT)}`
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  const headers = { ...frame.headers(SCRIPT), 'cache-control': 'public, max-age=60', vary: 'accept', etag }
  const page: Reply = { status: 200, headers, body, isOwnPage: true }
  const known: Reply = { status: 304, headers, body: null, isOwnPage: true }
  return (request) => {
    const has = headerOf(request, 'if-none-match')
    if (has?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)) return known
    return request.method === 'HEAD' ? { ...page, body: null } : page
  }
}

function networks({ networks: sold, discovery }: TextParts): string {
  const row = (name: string, value: string) => `<dt>${escapeHtml(name)}</dt><dd>${value}</dd>`
  const named = ({ name, testnet, token }: (typeof sold)[number]) =>
    escapeHtml(`${token.symbol} on ${name}${testnet ? ' (test money)' : ''}`)
  const address = (id: string) => `<code>${escapeHtml(payToOn(discovery, id))}</code>`
  const isOneWallet = new Set(sold.map(({ id }) => payToOn(discovery, id))).size === 1
  const rows = isOneWallet
    ? [row('Paid in', sold.map(named).join('<br>')), row('Paid to', address(sold[0]!.id))]
    : sold.map((network) => row('Paid in', `${named(network)}, to ${address(network.id)}`))
  const any =
    sold.length > 1
      ? '<p class="soft small">A price is the same on every network. Where the fees of a network would eat up a small price, it is not offered there.</p>'
      : ''
  return `<dl>${rows.join('')}</dl>${any}`
}

function catalog(parts: ShopParts): string {
  const { plans, routes } = parts.discovery
  const free = routes.filter((route) => route.free)
  const lists: Array<[title: string, intro: string, items: string[]]> = [
    [
      'Plans',
      'One payment, then a token that opens the API for a while.',
      plans.map((plan) => planItem(parts, plan)),
    ],
    ['Calls', 'One payment per call.', paidRoutes(parts).map((route) => routeItem(parts, route))],
    [
      'Free',
      'No payment.',
      free.map((route) => item(`${route.method} ${route.path}`, 'free', route.description, '')),
    ],
  ]
  const credits = sellsCredits(parts)
    ? '<p class="soft small">A plan with credits pays for calls in advance: its token makes them without a further payment.</p>'
    : ''
  return lists
    .filter(([, , items]) => items.length > 0)
    .map(
      ([title, intro, items]) =>
        `<section class="card"><h2>${title}</h2><p class="soft small">${intro}</p>${title === 'Plans' ? credits : ''}<ul class="items">${items.join('')}</ul></section>`,
    )
    .join('\n')
}

function planItem(parts: ShopParts, { planId, unitAmount, credits, description }: Plan): string {
  const link = parts.sellsPlansByHand
    ? `<p><a href="${escapeHtml(parts.baseUrl + planPath(planId))}" aria-label="Buy with a wallet: ${escapeHtml(planId)}">Buy with a wallet</a></p>`
    : ''
  return item(planId, `${unitAmount}${granted(credits)}`, description, link)
}

function routeItem(
  parts: TextParts,
  { method, path, price, credits, description, scheme }: PaidRoute,
): string {
  // A browser that opens it gets the page that takes the payment.
  const canOpen = method === 'GET' && !path.includes('/:') && scheme !== UPTO_SCHEME
  const link = canOpen
    ? `<p><a href="${escapeHtml(routeBase(parts) + path)}">Open and pay with a wallet</a></p>`
    : ''
  return item(`${method} ${path}`, `${price}${prepaid(credits)}`, description, link)
}

function item(what: string, cost: string, description: string | undefined, more: string): string {
  const text = description ? `<p>${escapeHtml(description)}</p>` : ''
  return `<li><span class="what mono">${escapeHtml(what)}</span><span class="cost">${escapeHtml(cost)}</span><div class="more">${text}${more}</div></li>`
}

function howToBuy(parts: ShopParts): string {
  const calls = paidRoutes(parts).filter(({ method, scheme }) => method === 'GET' && scheme !== UPTO_SCHEME)
  const ways = [
    parts.sellsPlansByHand && parts.discovery.plans.length > 0 && 'Follow the link of a plan',
    calls.length > 0 &&
      `open the address of a GET call${calls.some(({ path }) => path.includes('/:')) ? ', with a value of yours in place of each :name,' : ''}`,
  ].filter((way) => way !== false)
  const how = ways.join(', or ')
  const byHand =
    how === ''
      ? ''
      : `<h3>By hand</h3><p>${how.charAt(0).toUpperCase()}${how.slice(1)} in a browser that has a wallet: it shows the price, takes the payment and shows what you bought.</p>`
  return `<section class="card"><h2>How to buy</h2>
<p>Ask, get the price (HTTP 402), sign it with a wallet, and send the same request again. The signature is the payment: no account, no gas.</p>
${byHand}${readyTexts(parts).map(copyable).join('\n')}
${parts.discovery.refunds ? `<h3>Refunds</h3><p>${escapeHtml(parts.discovery.refunds.description)}</p>` : ''}</section>`
}

function copyable({ title, hint, text }: ReadyText): string {
  return `<h3>${escapeHtml(title)}</h3><p class="soft small">${escapeHtml(hint)}</p><div class="copied" data-title="${escapeHtml(title)}"><pre tabindex="0">${escapeHtml(text)}</pre></div>`
}

function links({ baseUrl, documents, provider, contactEmail }: TextParts): string {
  const link = (href: string, text: string) =>
    `<a href="${escapeHtml(href)}" rel="noreferrer">${escapeHtml(text)}</a>`
  const isWeb = provider !== null && /^https?:\/\//.test(provider.url)
  return [
    link(`${baseUrl}/discover`, 'Catalog (JSON)'),
    ...(documents
      ? [link(`${baseUrl}/openapi.json`, 'OpenAPI'), link(`${baseUrl}/skills.md`, 'For agents')]
      : []),
    ...(provider
      ? [isWeb ? link(provider.url, provider.organization) : escapeHtml(provider.organization)]
      : []),
    ...(contactEmail === null ? [] : [link(`mailto:${contactEmail}`, contactEmail)]),
  ].join(' · ')
}
