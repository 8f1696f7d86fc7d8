import { reasonOf } from '../reason-of.ts'

/** What answered at a base URL. */
export type Health =
  | { kind: 'ours'; version: string; network: string | undefined; configured: boolean }
  | { kind: 'foreign'; status: number }
  /** `reason` continues a sentence that begins with a name: `refuses the connection`. */
  | { kind: 'silent'; reason: string }

const MAX_CHARACTERS = 10_000

/** Asks `/health` below this URL; never rejects. Redirects are not followed, because buyers' clients do not follow them. */
export async function askHealth(baseUrl: string, limitMs: number): Promise<Health> {
  try {
    const signal = AbortSignal.timeout(limitMs)
    const response = await fetch(`${baseUrl}/health`, { redirect: 'manual', signal })
    const text = (await response.text()).slice(0, MAX_CHARACTERS)
    const health = parse(text)
    if (!response.ok || health?.status !== 'ok' || typeof health.version !== 'string') {
      return { kind: 'foreign', status: response.status }
    }
    const { version, network, configured } = health
    return {
      kind: 'ours',
      version,
      network: typeof network === 'string' ? network : undefined,
      configured: configured !== false,
    }
  } catch (error) {
    const late = error instanceof Error && error.name === 'TimeoutError'
    return { kind: 'silent', reason: late ? 'does not answer' : reasonOf(error) }
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return undefined
  }
}
