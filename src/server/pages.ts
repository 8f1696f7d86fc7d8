import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** For everything below /setup and /admin, pages and API alike. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'cache-control': 'no-store',
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The same folder, whether this file runs from src/ or from dist/. */
const BUILT = fileURLToPath(new URL('../../dist/ui/', import.meta.url))

interface PageFile {
  bytes: Uint8Array<ArrayBuffer>
  zipped: Uint8Array<ArrayBuffer>
  type: string
}

/**
 * Serves the built browser pages: `/setup`, `/admin` and `/admin/assets/*`. `path` is below the base path; `undefined`
 * means that it is no page. Who may see a page is not decided here: without a login it shows the login and nothing else.
 * `isFolder`: the page's address ends with a slash, and its files are below it, not beside it in `admin/`.
 */
export function createPages(
  folder: string = BUILT,
  isFolder = false,
): (request: Request, path: string) => Response | undefined {
  let files: Map<string, PageFile> | undefined
  return (request, path) => {
    const isAsset = path.startsWith('/admin/assets/')
    const page = /^\/(setup|admin)(\/?)$/.exec(path)
    if (!isAsset && !page) return undefined
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return text(405, 'Only GET and HEAD are possible here.', { allow: 'GET, HEAD' })
    }
    // The pages refer to their files by relative paths, which a trailing slash would change.
    if (page?.[2]) return text(308, '', { location: `../${page[1]}${new URL(request.url).search}` })

    // Looked up in a map of the built files: no path can lead out of the folder.
    if (!files || files.size === 0) files = readFiles(folder, isFolder)
    const file = files.get(page ? `/${page[1]}.html` : path)
    if (!file && page) return text(503, 'The browser pages are not built: run npm run build, then try again.')
    if (!file) return text(404, 'There is no such file.')
    const headers = new Headers({ ...PAGE_HEADERS, 'content-type': file.type, vary: 'accept-encoding' })
    // The name contains a hash of the content, so a browser may keep the file for ever.
    if (isAsset) headers.set('cache-control', 'public, max-age=31536000, immutable')
    const zip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    const bytes = zip ? file.zipped : file.bytes
    if (zip) headers.set('content-encoding', 'gzip')
    headers.set('content-length', String(bytes.byteLength))
    return new Response(request.method === 'HEAD' ? null : bytes, { headers })
  }
}

function readFiles(folder: string, isFolder: boolean): Map<string, PageFile> {
  const found = new Map<string, PageFile>()
  for (const path of listFiles(folder)) {
    const type = CONTENT_TYPES[extname(path)]
    if (!type) continue
    const file = readFileSync(join(folder, path))
    const isMoved = isFolder && type.startsWith('text/html')
    const moved = isMoved && Buffer.from(file.toString().replaceAll('./admin/assets/', './assets/'))
    const bytes = new Uint8Array(moved || file)
    found.set(`/${path.replaceAll('\\', '/')}`, { bytes, zipped: new Uint8Array(gzipSync(bytes)), type })
  }
  return found
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function text(status: number, message: string, headers: Record<string, string> = {}): Response {
  const body = message === '' ? null : `${message}\n`
  return new Response(body, {
    status,
    headers: { ...PAGE_HEADERS, 'content-type': 'text/plain; charset=utf-8', ...headers },
  })
}
