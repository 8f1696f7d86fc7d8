import { styleText } from 'node:util'

interface Entry {
  level?: unknown
  time?: unknown
  message?: unknown
  url?: unknown
  why?: unknown
  walletAddress?: unknown
}

const STYLES: Record<string, 'red' | 'yellow' | 'dim'> = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  debug: 'dim',
}
const MARGIN = ' '.repeat(13)

/** A JSON line of the server's log in a form that people read at a terminal. */
export function readableLog(line: string): string {
  let entry: Entry
  try {
    entry = JSON.parse(line) as Entry
  } catch {
    return line
  }
  if (typeof entry !== 'object' || entry === null) return line
  if (Array.isArray(entry.why)) return setUp(String(entry.url), entry.why.map(harmless))
  if (entry.walletAddress !== undefined && entry.url !== undefined) return ready(entry)
  const url = typeof entry.url === 'string' ? entry.url : ''
  if (url.includes('/admin?token=')) return `${row('dashboard', url)}${MARGIN}(good for one login)\n\n`
  return oneLine(entry)
}

function setUp(url: string, why: string[]): string {
  const advice = `${MARGIN}in a browser. What it needs:\n`
  const missing = why.map((fault) => `  · ${fault}\n`).join('')
  return `\n${title('paystile is not set up yet')}\n\n${row('set up', url)}${advice}\n${missing}\n`
}

function ready(entry: Entry): string {
  const { url, networks, walletAddress, plans, routes } = entry as Record<string, unknown>
  const network = Array.isArray(networks) ? networks.join(', ') : (entry as { network?: unknown }).network
  const count = (number: unknown, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`
  const sells = `${count(plans, 'plan')}, ${count(routes, 'route')}`
  const rows = Object.entries({ gateway: url, network, wallet: walletAddress, sells })
  return `\n${title('paystile is ready')}\n\n${rows.map(([name, value]) => row(name, value)).join('')}\n`
}

function oneLine({ level, time, message, ...more }: Entry): string {
  const word = harmless(level ?? 'info')
  const style = STYLES[word]
  const clock = typeof time === 'string' ? time.slice(11, 19) : ''
  const facts = Object.entries(more).map(([name, value]) => ` ${name}=${shown(value)}`)
  const head = style ? styleText(style, word.padEnd(5)) : word.padEnd(5)
  return `${harmless(clock)} ${head}  ${harmless(message)}${facts.length > 0 ? ` ${facts.join('')}` : ''}\n`
}

const title = (text: string): string => styleText('bold', text)
const row = (name: string, value: unknown): string => `  ${name.padEnd(10)} ${harmless(value)}\n`

function shown(value: unknown): string {
  const text = typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value)
  return harmless(text)
}

/** The log contains text of buyers, which must not move the cursor, colour the terminal or begin a line. */
function harmless(value: unknown): string {
  return String(value).replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
}
