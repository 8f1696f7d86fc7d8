const number = new Intl.NumberFormat('en-US')
const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

export const formatCount = (count: number): string => number.format(count)

export const formatTime = (iso: string): string => dateTime.format(new Date(iso))

export const formatExactTime = (iso: string): string => exact.format(new Date(iso))

/** `$1234.5` → `$1,234.50`. Further digits are kept: prices can be below a cent. */
export function formatUsd(usd: string): string {
  const [whole = '0', fraction = ''] = usd.replace(/[-$]/g, '').split('.')
  return `${usd.includes('-') ? '−' : ''}$${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction.padEnd(2, '0')}`
}

export function formatMicro(micro: string): string {
  if (micro.startsWith('-')) return `−${formatMicro(micro.slice(1))}`
  const digits = micro.padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0{1,4}$/, '')
  return formatUsd(`$${digits.slice(0, -6)}.${fraction}`)
}

/** Four significant decimals are enough to see whether gas runs out. */
export function formatCoin(wei: string, symbol: string): string {
  const eth = Number(BigInt(wei) / 10n ** 10n) / 1e8
  return `${eth.toLocaleString('en-US', { maximumFractionDigits: eth < 0.01 ? 6 : 4 })} ${symbol}`
}

export function formatDuration(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`
}

export function formatPercent(part: number, whole: number): string {
  if (whole === 0) return '–'
  const percent = (part / whole) * 100
  return `${percent < 10 && percent > 0 ? percent.toFixed(1) : Math.round(percent)}%`
}

export function formatAgo(iso: string, nowMs: number): string {
  const seconds = Math.round((new Date(iso).getTime() - nowMs) / 1000)
  if (Math.abs(seconds) < 45) return 'just now'
  const minutes = Math.round(seconds / 60)
  if (Math.abs(minutes) < 60) return relative.format(minutes, 'minute')
  const hours = Math.round(minutes / 60)
  return Math.abs(hours) < 24
    ? relative.format(hours, 'hour')
    : relative.format(Math.round(hours / 24), 'day')
}

/** `0x70997970…c8dc79`: both ends, which people compare. */
export function shorten(hex: string, head = 6, tail = 4): string {
  return hex.length <= head + tail + 1 ? hex : `${hex.slice(0, head)}…${hex.slice(-tail)}`
}

const STATE_WORDS: Record<string, string> = {
  PENDING: 'Waiting for payment',
  PAID: 'Paid, not delivered',
  DELIVERED: 'Delivered',
  EXPIRED: 'Expired',
  CANCELLED: 'Cancelled',
  REFUND_PENDING: 'Refund waiting',
  REFUNDED: 'Refunded',
  REFUND_FAILED: 'Refund failed',
}

export const stateWord = (state: string): string => STATE_WORDS[state] ?? state
