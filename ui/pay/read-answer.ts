import type { AccessGrant } from '../../src/protocol/access.ts'

/** What was bought, ready to be shown and saved. */
export interface Answer {
  /** Of the backend. */
  status: number
  type: string
  blob: Blob
  /** Absent: not a text. */
  text?: string
  fileName: string
  receiptUrl?: string
  /** Of a plan. */
  grant?: AccessGrant
}

interface Wrapped {
  type: 'ResourceResponse'
  resource: { status: number; body: unknown; contentType?: string; encoding?: 'base64' }
}

const TEXT = /^(text\/|application\/(.+\+)?(json|xml|yaml|javascript)\b)/
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'application/pdf': 'pdf',
  'application/xml': 'xml',
  'application/zip': 'zip',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/webp': 'webp',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
}

export async function readAnswer(response: Response, blob: Blob, url: string): Promise<Answer> {
  const type = (response.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  const value = type === 'application/json' ? parsed(await blob.text()) : undefined
  const wrapped = value && unwrap(value)
  const { status, contentType, body } = wrapped ?? { status: response.status, contentType: type, body: blob }
  const receiptUrl = response.headers.get('x-svc-receipt-url')
  const isText = contentType === '' || TEXT.test(contentType)
  return {
    status,
    type: contentType,
    blob: body,
    ...(isText && { text: shown(await body.text(), contentType) }),
    fileName: fileName(url, contentType),
    ...(receiptUrl !== null && { receiptUrl }),
    ...(value?.type === 'AccessGrant' && { grant: value as unknown as AccessGrant }),
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The backend's answer inside the gateway's. */
function unwrap(value: Partial<Wrapped>): { status: number; contentType: string; body: Blob } | undefined {
  if (value.type !== 'ResourceResponse' || !value.resource) return undefined
  const { status, body, encoding, contentType } = value.resource
  const type = (contentType ?? (typeof body === 'string' ? 'text/plain' : 'application/json'))
    .split(';')[0]!
    .trim()
  if (encoding === 'base64' && typeof body === 'string') {
    const bytes = Uint8Array.from(atob(body), (character) => character.charCodeAt(0))
    return { status, contentType: type, body: new Blob([bytes]) }
  }
  const content = typeof body === 'string' ? body : body === null ? '' : JSON.stringify(body, null, 2)
  return { status, contentType: type, body: new Blob([content]) }
}

function shown(text: string, type: string): string {
  if (!/json$/.test(type)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function fileName(url: string, type: string): string {
  const last = new URL(url).pathname.split('/').filter(Boolean).at(-1) ?? 'answer'
  const name = last.replace(/[^\w.-]+/g, '-').slice(0, 60) || 'answer'
  const extension = EXTENSIONS[type] ?? (type.startsWith('text/') || type === '' ? 'txt' : 'bin')
  return name.endsWith(`.${extension}`) ? name : `${name}.${extension}`
}
