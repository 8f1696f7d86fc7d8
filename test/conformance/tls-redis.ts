import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../src/testing/free-port.ts'
import { startRedis } from '../../src/testing/redis-server.ts'

/** A Redis that speaks TLS alone, with a certificate for localhost that it signed itself. */
export interface TlsRedis {
  port: number
  /** `localhost:port`. */
  host: string
  /** As PEM: whoever takes it for an authority trusts the server. */
  certificate(): string
  /** Makes another certificate, which it presents from its next start on. */
  sign(): void
  restart(): Promise<void>
  stop(): Promise<void>
}

export async function startTlsRedis(config: Record<string, string> = {}): Promise<TlsRedis> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'paystile-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const sign = () => {
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key]
    const request = ['req', '-x509', ...newKey, '-out', cert, '-days', '2', ...subject]
    execFileSync('openssl', request, { stdio: 'pipe' })
  }
  sign()
  const files = { 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': cert }
  const server = await startRedis({
    port: 0,
    config: { 'tls-port': String(port), 'tls-auth-clients': 'no', ...files, ...config },
  })
  return {
    port,
    host: `localhost:${port}`,
    certificate: () => readFileSync(cert, 'utf8'),
    sign,
    restart: server.restart,
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true })
    },
  }
}
