import { decodeJsonObject } from '../../protocol/base64.ts'
import type { RefundTerms } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import { unitsToDollars } from '../../rules/token-amount.ts'
import { escapeHtml } from '../http/render-receipt.ts'
import type { Reply } from '../http/reply.ts'
import { createPageFrame, inlineJson, type Seller } from './page-frame.ts'
import { isNavigation } from './wants-page.ts'

/** Shows the 402 of a call to whoever opens it in a browser. */
export interface PaymentPage {
  isWanted(request: Request): boolean
  /** The same 402 with the same headers, as a page from which a wallet pays. */
  show(challenge: Reply): Reply
}

export interface PaymentPageParts {
  seller: Seller
  networks: readonly Network[]
  refunds: RefundTerms | undefined
  /** Where everything that is sold is shown; undefined: nowhere. */
  shopUrl: string | undefined
  /** The script of the page, from `ui/pay`. */
  bundle: string
}

/** What the script knows of a network besides the terms. */
export interface PayNetwork {
  id: string
  chainId: number
  name: string
  symbol: string
  decimals: number
  testnet: boolean
  explorerTxUrl: string
  /** Absent: no public node is known, so the page cannot add the network to a wallet. */
  rpcUrls?: readonly string[]
  coin: string
  /** Where test money is free. */
  faucet?: string
}

/** What the page hands to its script. */
export interface PayOffer {
  terms: PaymentRequired
  networks: PayNetwork[]
}

export function createPaymentPage(parts: PaymentPageParts): PaymentPage {
  const { seller, refunds, bundle, shopUrl } = parts
  const frame = createPageFrame(seller)
  const headers = frame.headers(bundle, { connects: true, images: ['data:', 'blob:'] })
  const networks = parts.networks.map(shownToWallets)
  const shop = shopUrl && `<a href="${escapeHtml(shopUrl)}">All that is sold here</a>`
  const end = `<footer class="soft small">${[
    'The payment is a signature: the wallet needs no coins for gas.',
    refunds?.policy === 'automatic' && 'If it cannot be delivered, your money goes back automatically.',
    refunds?.policy === 'manual' && 'If it cannot be delivered, the seller sends your money back by hand.',
    shop,
  ]
    .filter(Boolean)
    .join(' ')}</footer>
`

  return {
    isWanted: isNavigation,
    show(challenge) {
      const terms = decodeJsonObject(challenge.headers['payment-required'] ?? '') as
        | PaymentRequired
        | undefined
      if (!terms) return challenge
      const { description, method, url } = terms.resource
      const plan = terms.accepts[0]?.extra?.planId
      const data: PayOffer = { terms, networks }
      const isMetered = terms.accepts.every(({ scheme }) => scheme === UPTO_SCHEME)
      const body = `${frame.open(`${description} · ${seller.name}`)}<main class="card">
<p class="soft mono">${escapeHtml(plan === undefined ? `${method} ${shownPath(url)}` : `plan ${plan}`)}</p>
<h1>${escapeHtml(description)}</h1>
<p class="price">${isMetered ? 'up to ' : ''}${priceOf(terms, networks)}</p>
${isMetered ? forPrograms(terms, networks) : `<div id="pay">${WITHOUT_SCRIPT}</div>`}
</main>
${isMetered ? `<footer class="soft small">${shop ?? ''}</footer>\n${frame.close('')}` : `<script type="application/json" id="offer">${inlineJson(data)}</script>\n${end}${frame.close(bundle)}`}`
      return {
        status: challenge.status,
        headers: { ...challenge.headers, ...headers },
        body,
        isOwnPage: true,
      }
    },
  }
}

const WITHOUT_SCRIPT =
  '<noscript><p class="note wait">To pay here with a wallet, allow JavaScript. Programs need none: the terms are in the header PAYMENT-REQUIRED.</p></noscript>'

/** The script of this page signs fixed prices only: a metered call is left to programs. */
function forPrograms({ accepts, resource }: PaymentRequired, networks: readonly PayNetwork[]): string {
  const [first] = accepts
  const decimals = networks.find(({ id }) => id === first?.network)?.decimals ?? 6
  const most = first ? unitsToDollars({ decimals }, first.amount) : '$0.05'
  const command = `npx paystile buy '${resource.url.replaceAll("'", '%27')}' --max-amount '${most}'`
  return `<div class="note wait"><p>What it costs is known afterwards: the call decides, up to this price. Such a call cannot be paid from a browser; a program pays it, for example</p>
<pre>${escapeHtml(command)}</pre></div>`
}

function priceOf({ accepts }: PaymentRequired, networks: readonly PayNetwork[]): string {
  const [first] = accepts
  const known = networks.filter(({ id }) => accepts.some(({ network }) => network === id))
  const preferred = known.find(({ id }) => id === first?.network)
  if (!first || !preferred) return ''
  const places = known.map(({ name }) => name).join(' or ')
  const isTest = known.every(({ testnet }) => testnet) ? ' (test money)' : ''
  return `${unitsToDollars(preferred, first.amount)} <small>${escapeHtml(`${preferred.symbol} on ${places}${isTest}`)}</small>`
}

const shownPath = (url: string): string =>
  URL.canParse(url) ? new URL(url).pathname + new URL(url).search : url

/** The seller's own nodes stay secret: wallets are told the public ones of the table. */
function shownToWallets({ id, chainId, name, token, testnet, explorerTxUrl, native }: Network): PayNetwork {
  const known = NETWORKS.find((network) => network.id === id)
  return {
    ...{ id, chainId, name, symbol: token.symbol, decimals: token.decimals, testnet, explorerTxUrl },
    ...(known && { rpcUrls: known.rpcUrls }),
    coin: native.symbol,
    ...(known?.faucets && { faucet: known.faucets.token }),
  }
}
