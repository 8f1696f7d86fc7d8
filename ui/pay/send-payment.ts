import { decodeBase64Json } from './authorization.ts'

export type Sent =
  /** What was bought, whole; `txHash` is empty where the answer does not name it. */
  | { kind: 'answered'; response: Response; body: Blob; txHash: string }
  /** Paid, and no delivery: the same payment calls again, or goes back. */
  | { kind: 'undelivered'; response: Response; txHash: string }
  /** Paid, not delivered, and the payment is on its way back or is back. */
  | { kind: 'refunded'; statusUrl: string | null }
  /** For certain not paid by now. */
  | { kind: 'unpaid'; reason: string }
  /** Anything else that sending again will not change. */
  | { kind: 'refused'; reason: string }

/** Proxies have statuses of their own, such as 520, for a seller whose answer they lost. */
const isUndecided = (status: number): boolean => status >= 500 || [202, 408, 425, 429].includes(status)

const BROKEN_OFF = 'The answer broke off; this page asks for it again, and you do not pay twice.'

/**
 * Sends the same payment until the answer is a decision. A lost answer and a 5xx mean that the money may have moved: signing
 * again could pay twice, sending the same payment cannot.
 */
export async function sendPayment(
  url: string,
  header: string,
  onPending: (reason: string) => void,
): Promise<Sent> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, {
      headers: { accept: '*/*', 'payment-signature': header },
      cache: 'no-store',
      redirect: 'manual',
    }).catch(() => undefined)
    const sent = response && (await decide(response).catch(() => 'broken off' as const))
    if (sent && sent !== 'broken off') return sent
    onPending(sent ? BROKEN_OFF : await pendingWords(response))
    const seconds = Number(response?.headers.get('retry-after'))
    const delayMs = seconds > 0 ? seconds * 1000 : Math.min(8000, 500 * 2 ** attempt)
    await new Promise((resolve) => setTimeout(resolve, delayMs))
  }
}

/** The gateway's own words are for programs, except where it says that something is wrong. */
async function pendingWords(response: Response | undefined): Promise<string> {
  if (!response) return 'The seller cannot be reached right now; this page keeps trying.'
  if (response.headers.get('x-svc-code') === 'SETTLEMENT_PENDING')
    return 'The chain has not confirmed it yet; this page keeps asking.'
  return `${await reasonOf(response)} This page keeps trying.`
}

/** undefined: not decided yet. Rejects when what was bought breaks off. */
async function decide(response: Response): Promise<Sent | undefined> {
  const receipt = decodeBase64Json(response.headers.get('payment-response') ?? '')
  const code = response.headers.get('x-svc-code')
  const txHash = typeof receipt?.transaction === 'string' ? receipt.transaction : ''
  if (code === 'CHALLENGE_REFUNDED') return { kind: 'refunded', statusUrl: await statusUrlOf(response) }
  if (code === 'DELIVERY_FAILED') return { kind: 'undelivered', response, txHash }
  if (receipt?.success === true || (response.ok && response.status !== 202))
    return { kind: 'answered', response, body: await response.blob(), txHash }
  if (response.status === 402 || response.status === 410)
    return { kind: 'unpaid', reason: await reasonOf(response) }
  if (isUndecided(response.status)) return undefined
  if (response.type === 'opaqueredirect') {
    return { kind: 'refused', reason: 'The seller answered with a redirect, which this page cannot follow.' }
  }
  return { kind: 'refused', reason: await reasonOf(response) }
}

async function statusUrlOf(response: Response): Promise<string | null> {
  const body = (await response.json().catch(() => undefined)) as { statusUrl?: unknown } | undefined
  return typeof body?.statusUrl === 'string' ? body.statusUrl : null
}

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as
    | { message?: unknown; error?: unknown }
    | undefined
  const said = [body?.message, body?.error].find((text) => typeof text === 'string')
  return said === undefined ? `The seller answered with status ${response.status}.` : sentence(said as string)
}

const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.')
