import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPages } from './pages.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paystile-pages-'))
  await mkdir(join(folder, 'admin/assets'), { recursive: true })
  await writeFile(join(folder, 'setup.html'), '<!doctype html>setup')
  await writeFile(join(folder, 'admin/assets/admin-abc.js'), 'let a = 1')
  await writeFile(join(folder, 'admin/assets/notes.txt'), 'not meant for the web')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const ask = (path: string, init?: RequestInit) =>
  createPages(folder)(
    new Request(`http://localhost${path}`, init),
    new URL(`http://localhost${path}`).pathname,
  )

test('a page is never cached, never framed, and runs only scripts of its own origin', async () => {
  const page = ask('/setup')
  expect(await page?.text()).toBe('<!doctype html>setup')
  expect(page?.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page?.headers.get('cache-control')).toBe('no-store')
  expect(page?.headers.get('x-frame-options')).toBe('DENY')
  expect(page?.headers.get('x-content-type-options')).toBe('nosniff')
  expect(page?.headers.get('referrer-policy')).toBe('no-referrer')
  const policy = page?.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(page?.headers.get('access-control-allow-origin')).toBe(null)
})

test('an asset may be cached for ever, and is compressed for browsers that accept it', async () => {
  const asset = ask('/admin/assets/admin-abc.js', { headers: { 'accept-encoding': 'gzip, br' } })
  expect(asset?.headers.get('cache-control')).toContain('immutable')
  expect(asset?.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  const bytes = new Uint8Array((await asset?.arrayBuffer()) ?? new ArrayBuffer(0))
  expect(gunzipSync(bytes).toString()).toBe('let a = 1')
  expect(await ask('/admin/assets/admin-abc.js', { method: 'HEAD' })?.text()).toBe('')
})

test.each([
  '/admin/assets/../../setup.html',
  '/admin/assets/..%2f..%2fsetup.html',
  '/admin/assets/%2e%2e/x',
  '/admin/assets/',
  '/admin/assets/notes.txt',
  '/admin/assets/unknown.js',
])('%s is no file', (path) => {
  const answer = createPages(folder)(new Request('http://localhost/'), path)
  expect(answer?.status).toBe(404)
})

test('a trailing slash leads to the page, with its query', () => {
  const answer = ask('/setup/?token=t')
  expect(answer?.status).toBe(308)
  expect(answer?.headers.get('location')).toBe('../setup?token=t')
})

test('other paths are left to the caller, other methods are refused, and a missing build is explained', async () => {
  expect(ask('/setup/api/state')).toBe(undefined)
  expect(ask('/discover')).toBe(undefined)
  expect(ask('/setup', { method: 'POST' })?.status).toBe(405)
  const unbuilt = createPages(join(folder, 'nowhere'))(new Request('http://localhost/admin'), '/admin')
  expect(unbuilt?.status).toBe(503)
  expect(await unbuilt?.text()).toContain('npm run build')
})
