import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually, freePort } from '../e2e/world.ts'

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

interface Call {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** The client's own address, of those that this machine has. */
  from?: string
}

export interface Nginx {
  /** https. */
  url: string
  plainUrl: string
  /** Resolves with the answer's headers; the body is read by the caller. */
  open(path: string, call?: Call): Promise<IncomingMessage>
  call(path: string, call?: Call): Promise<Reply>
  stop(): Promise<void>
}

/** Debian's nginx with the example of `deploy/nginx`, in which only ports, names and certificate differ. */
export async function startNginx(tlsPort: number, backendPort: number): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-nginx-'))
  const [key, certificate, settings] = ['key.pem', 'cert.pem', 'nginx.conf'].map((name) => join(folder, name))
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
    ...['-keyout', key!, '-out', certificate!],
  ])
  const plainPort = await freePort()
  const example = readFileSync(new URL('../../deploy/nginx/paystile.conf', import.meta.url), 'utf8')
    .replaceAll('https://pay.example.com', `https://127.0.0.1:${tlsPort}`)
    .replace(/\/etc\/letsencrypt\S+fullchain\.pem/, certificate!)
    .replace(/\/etc\/letsencrypt\S+privkey\.pem/, key!)
    .replaceAll('server_name pay.example.com', 'server_name localhost')
    .replace('listen 443 ssl', `listen 127.0.0.1:${tlsPort} ssl`)
    .replace('listen 80', `listen 127.0.0.1:${plainPort}`)
    .replace('127.0.0.1:3000', `127.0.0.1:${backendPort}`)
    // The operator's pages for some addresses only, as the example offers it.
    .replace('# allow 10.0.0.0/8', 'allow 127.0.0.0/30')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  )
  writeFileSync(
    settings!,
    `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr warn;
    events {}
    http { access_log off; ${temporary.join(' ')}
    ${example} }`,
  )
  const ca = readFileSync(certificate!)
  const child = spawn('nginx', ['-e', 'stderr', '-c', settings!], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))

  const url = `https://127.0.0.1:${tlsPort}`
  const open = (path: string, { method = 'GET', headers = {}, body, from }: Call = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const options = { method, headers, ca, ...(from !== undefined && { localAddress: from }) }
      request(`${url}${path}`, options, resolve).on('error', reject).end(body)
    })
  const call = async (path: string, options: Call = {}): Promise<Reply> =>
    readReply(await open(path, options))
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`)
    return call('/health').then(
      () => true,
      () => false,
    )
  })
  return {
    url,
    plainUrl: `http://127.0.0.1:${plainPort}`,
    open,
    call,
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function callPlain(url: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    plainRequest(url, (answer) => void readReply(answer).then(resolve, reject))
      .on('error', reject)
      .end()
  })
}

async function readReply(answer: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    text: Buffer.concat(chunks).toString(),
  }
}
