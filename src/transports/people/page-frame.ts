import { createHash } from 'node:crypto'
import { escapeHtml } from '../http/render-receipt.ts'
import { pageStyle } from './page-style.ts'

/** How the seller is shown. */
export interface Seller {
  name: string
  /** An https URL, or a path on this host. */
  logoUrl: string | null
  /** `#rrggbb`. */
  color: string | null
}

/** What all pages of one seller share. Scripts and styles are inline and allowed by their hashes: a page needs no other file. */
export interface PageFrame {
  /** The document up to its main part. The seller's name is its heading, unless the page has another. */
  open(title: string, nameTag?: 'h1' | 'span'): string
  /** Empty: the page has no script. */
  close(script: string): string
  headers(script: string, more?: { connects?: boolean; images?: readonly string[] }): Record<string, string>
}

export function createPageFrame(seller: Seller): PageFrame {
  const style = pageStyle(seller.color)
  const logo = seller.logoUrl === null ? '' : `<img src="${escapeHtml(seller.logoUrl)}" alt="">`
  const logoSource = seller.logoUrl?.startsWith('https:') ? [new URL(seller.logoUrl).origin] : []
  return {
    open: (title, nameTag = 'span') => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<div class="band"></div>
<div class="page">
<header class="seller">${logo}<${nameTag}>${escapeHtml(seller.name)}</${nameTag}></header>
`,
    close: (script) => `</div>${script === '' ? '' : `\n<script>${script}</script>`}
</body>
</html>
`,
    headers: (script, { connects = false, images = [] } = {}) => ({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': [
        "default-src 'none'",
        `script-src '${hashOf(script)}'`,
        `style-src '${hashOf(style)}'`,
        `img-src ${["'self'", ...logoSource, ...images].join(' ')}`,
        ...(connects ? ["connect-src 'self'"] : []),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    }),
  }
}

/** JSON inside a script element: no text in it can end the element. */
export function inlineJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`
