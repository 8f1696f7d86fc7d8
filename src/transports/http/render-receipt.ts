import { createHash } from 'node:crypto'
import type { ChallengeState } from '../../protocol/access.ts'
import type { ReceiptView, ShownTransaction } from './receipt-view.ts'

const STYLE = `
:root { color-scheme: light dark; --back: #f4f5f7; --card: #fff; --text: #16181d; --soft: #565d6b; --line: #dadde3; --link: #0b57b0; --good: #0f6b3a; --wait: #8a5200; --bad: #a8201a }
@media (prefers-color-scheme: dark) { :root { --back: #101216; --card: #191c22; --text: #e9ebf0; --soft: #a3abba; --line: #343944; --link: #8ab8ff; --good: #6fd39c; --wait: #f0b45f; --bad: #ff9a92 } }
* { box-sizing: border-box }
body { margin: 0; padding: 2rem 1rem; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 44rem; margin: 0 auto; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25 } h2 { margin: 2rem 0 .5rem; font-size: 1.05rem }
p { margin: .5rem 0 } .soft { color: var(--soft) } .seller { display: flex; align-items: center; gap: .6rem } .seller img { height: 2.25rem; max-width: 9rem; object-fit: contain } .price { margin: 1rem 0 0; font-size: 2rem; font-weight: 600; line-height: 1.2 }
.good { color: var(--good) } .wait { color: var(--wait) } .bad { color: var(--bad) } .state { font-weight: 600 }
dl { display: grid; grid-template-columns: 9rem 1fr; align-items: baseline; gap: .6rem 1rem; margin: 1.5rem 0 0; padding: 1.5rem 0 0; border-top: 1px solid var(--line) }
dt { color: var(--soft) } dd { margin: 0; min-width: 0; overflow-wrap: anywhere }
.mono, pre { font-family: ui-monospace, monospace; font-size: .875rem } a { color: var(--link) } code { white-space: nowrap } .place { margin-top: 2rem }
pre { margin: 0; padding: .75rem; border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all }
@media (max-width: 32rem) { body { padding: 0 } main { border: 0; border-radius: 0; padding: 1.25rem; min-height: 100vh } dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .75rem } .mono, pre { font-size: .8125rem } }
@media print { :root { color-scheme: light; --back: #fff; --card: #fff; --text: #000; --soft: #444; --line: #bbb; --link: #000; --good: #000; --wait: #000; --bad: #000 } body { padding: 0; font-size: 11pt } main { border: 0; padding: 0; max-width: none } pre { font-size: 8pt } dl, h2 { break-inside: avoid } }
`

/** Who sold it, as the page shows it. */
export interface ReceiptSeller {
  name: string
  /** An https URL, or a path on this host. */
  logoUrl: string | null
}

/** No script, no form, no frame, nothing from elsewhere but the seller's logo: only this one style. */
export function receiptPolicy({ logoUrl }: ReceiptSeller): string {
  const logo = logoUrl?.startsWith('https:') ? new URL(logoUrl).origin : "'self'"
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    ...(logoUrl === null ? [] : [`img-src ${logo}`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For text and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!)
}

type Tone = 'good' | 'wait' | 'bad' | 'soft'

const STATES: Record<ChallengeState, [Tone, string]> = {
  PENDING: ['soft', 'Not paid: nothing has been charged.'],
  EXPIRED: ['soft', 'Expired without a payment: nothing was charged.'],
  CANCELLED: ['soft', 'Cancelled without a payment: nothing was charged.'],
  PAID: ['wait', 'Paid. Not delivered yet: if it is not, the payment goes back.'],
  DELIVERED: ['good', 'Paid and delivered.'],
  REFUND_PENDING: ['wait', 'Paid, but not delivered. The payment is on its way back.'],
  REFUNDED: ['good', 'Paid, but not delivered. The payment was refunded.'],
  REFUND_FAILED: [
    'bad',
    'Paid, but not delivered. The refund could not be sent; the seller has been asked to send it.',
  ],
}
/** A metered call may cost nothing. */
const DELIVERED_FREE: [Tone, string] = ['good', 'Delivered. The call cost nothing, so nothing was charged.']
/** Of a newer version. */
const UNKNOWN_STATE: [Tone, string] = ['soft', 'In progress.']

export function receiptHtml(view: ReceiptView, baseUrl: string, seller: ReceiptSeller): string {
  const [tone, said] = stateWords(view)
  const { item, price, maximum } = view
  const head = `${sellerLine(seller)}
<h1>${item ? escapeHtml(item.description) : 'Purchase'}</h1>
${price === undefined ? '' : `<p class="price">${escapeHtml(price)}</p>`}
<p class="state ${tone}">${said}</p>`
  const rows = [
    row('Bought', item && `${item.kind === 'plan' ? 'Plan' : 'Call'} ${item.id}`),
    row('Call', item?.call, 'mono'),
    row('For', item?.kind === 'plan' && item.resourceId !== 'default' ? item.resourceId : undefined),
    row('Charged', maximum !== undefined && `${price} of at most ${maximum}`),
    row('Paid in', paidIn(view)),
    row('Paid at', time(view.paidAt)),
    row('Delivered at', time(view.deliveredAt)),
    row('Refunded at', time(view.refundedAt)),
    row('Payer', view.payer, 'mono'),
    row('Paid to', view.payTo, 'mono'),
    transactionRow('Payment', view.transaction),
    transactionRow('Refund', view.refundTransaction),
    row('Reference', view.challengeId, 'mono'),
  ]
  return page(
    `${item ? item.description : 'Purchase'} · ${seller.name}`,
    `${head}\n<dl>${rows.join('')}</dl>\n${signed(view)}<p class="soft place">${escapeHtml(baseUrl)}</p>`,
  )
}

function stateWords({ paymentLost, state, item, transaction }: ReceiptView): [Tone, string] {
  if (paymentLost)
    return ['bad', 'The chain dropped this payment after it was confirmed: no money has moved.']
  if (state === 'DELIVERED' && item && !transaction) return DELIVERED_FREE
  return STATES[state] ?? UNKNOWN_STATE
}

function paidIn({ token, network, transaction }: ReceiptView): string | undefined {
  if (token === undefined || network === undefined || !transaction) return undefined
  return `${token} on ${network.name} (${network.testnet ? 'test money, ' : ''}${network.id})`
}

export function unknownHtml(seller: ReceiptSeller): string {
  return page(
    `Not found · ${seller.name}`,
    `${sellerLine(seller)}<h1>No such purchase</h1>
<p>No purchase has this address. Copy it whole: it ends with the reference of the purchase.</p>`,
  )
}

function sellerLine({ name, logoUrl }: ReceiptSeller): string {
  const logo = logoUrl === null ? '' : `<img src="${escapeHtml(logoUrl)}" alt="">`
  return `<p class="soft seller">${logo}<span>${escapeHtml(name)}</span></p>`
}

function signed({ receipt, refundReceipt }: ReceiptView): string {
  const parts = [
    ...(receipt === undefined ? [] : [['Signed receipt', receipt]]),
    ...(refundReceipt === undefined ? [] : [['Signed refund receipt', refundReceipt]]),
  ]
  if (parts.length === 0) return ''
  const shown = parts.map(([title, jws]) => `<h2>${title}</h2>\n<pre>${escapeHtml(jws!)}</pre>`)
  return `${shown.join('\n')}
<p class="soft">Anybody can check it: save it to a file and run <code>paystile receipts verify FILE</code>.</p>\n`
}

function row(name: string, value: string | undefined | false, style = ''): string {
  if (value === undefined || value === false) return ''
  return `<dt>${name}</dt><dd${style && ` class="${style}"`}>${escapeHtml(value)}</dd>`
}

function transactionRow(name: string, transaction: ShownTransaction | undefined): string {
  if (!transaction) return ''
  const { hash, explorerUrl } = transaction
  const isLink = explorerUrl !== undefined && /^https?:\/\//.test(explorerUrl)
  if (!isLink) return row(name, hash, 'mono')
  return `<dt>${name}</dt><dd class="mono"><a href="${escapeHtml(explorerUrl)}" rel="noreferrer noopener">${escapeHtml(hash)}</a></dd>`
}

const time = (at: string | undefined): string | undefined =>
  at && `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`

function page(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body><main>
${main}
</main></body>
</html>
`
}
