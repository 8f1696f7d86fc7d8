import { open } from 'node:fs/promises'
import { Agent } from 'undici'
import { urlFault } from '../config/url-fault.ts'
import { ConfigError } from '../errors.ts'
import { exchange, LimitError } from '../exchange.ts'
import { type Description, MAX_BYTES, readDescription, refuseSize } from './read-description.ts'

const TIMEOUT_MS = 20_000
const MAX_REDIRECTS = 5

export interface FetchLimits {
  /** Redirects may lead to another path of the same host only. */
  sameHost: boolean
  maxBytes?: number
  timeoutMs?: number
}

export const isUrl = (source: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(source)

/** Throws one line when the file cannot be read or is no description. */
export async function loadFile(path: string): Promise<Description> {
  let text: string
  try {
    const file = await open(path, 'r')
    try {
      refuseSize(path, (await file.stat()).size, MAX_BYTES)
      text = await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const code = (error as NodeJS.ErrnoException).code
    const why =
      code === 'ENOENT' ? 'does not exist' : code === 'EISDIR' ? 'is a folder' : `cannot be read (${code})`
    throw new ConfigError([`${path} ${why}; give a file or a URL of an OpenAPI description.`])
  }
  return readDescription(text, { name: path })
}

/** Throws one line when the address does not answer with a description. Of its answers nothing is repeated. */
export async function loadUrl(
  source: string,
  { sameHost, maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS }: FetchLimits,
): Promise<Description> {
  const agent = new Agent({ connect: { timeout: timeoutMs } })
  const until = Date.now() + timeoutMs
  try {
    let url = checked(source, 'The address')
    const name = nameOf(url)
    for (let hop = 0; ; hop++) {
      const { status, headers, bytes } = await ask(agent, url, name, maxBytes, until - Date.now())
      if (status < 300 || status > 399 || headers.location === undefined) {
        if (status !== 200) throw new ConfigError([`${name} answered ${status} instead of a description.`])
        return await readDescription(bytes.toString('utf8'), { name, url: url.href, maxBytes })
      }
      if (hop === MAX_REDIRECTS)
        throw new ConfigError([`${name} redirects more than ${MAX_REDIRECTS} times.`])
      url = redirected(url, String(headers.location), name, sameHost)
    }
  } finally {
    await agent.destroy()
  }
}

function checked(source: string, what: string): URL {
  const fault = urlFault(source.replace(/#.*$/s, ''))
  if (fault !== undefined) throw new ConfigError([`${what} ${fault}.`])
  return new URL(source.replace(/#.*$/s, ''))
}

function redirected(from: URL, location: string, name: string, sameHost: boolean): URL {
  if (!URL.canParse(location, from.href)) {
    throw new ConfigError([`${name} redirects to something that is no address.`])
  }
  const to = checked(new URL(location, from.href).href, `The address to which ${name} redirects`)
  if (from.protocol === 'https:' && to.protocol !== 'https:') {
    throw new ConfigError([`${name} redirects from https to http; give the final address yourself.`])
  }
  if (sameHost && to.host !== from.host) {
    throw new ConfigError([`${name} redirects to another host (${to.host}); give that address yourself.`])
  }
  return to
}

async function ask(agent: Agent, url: URL, name: string, maxBytes: number, timeoutMs: number) {
  const headers = {
    accept: 'application/json, application/yaml;q=0.9, */*;q=0.5',
    'accept-encoding': 'identity',
    'user-agent': 'paystile-import',
  }
  const request = { origin: url.origin, path: `${url.pathname}${url.search}`, method: 'GET', headers }
  try {
    return await exchange(agent, request, { timeoutMs: Math.max(1, timeoutMs), maxBytes })
  } catch (error) {
    if (error instanceof LimitError && error.limit === 'size') refuseSize(name, maxBytes + 1, maxBytes)
    if (error instanceof LimitError) throw new ConfigError([`${name} did not answer in time.`])
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new ConfigError([`${name} cannot be reached (${code}).`])
  }
}

/** Without the query, which may hold a key. */
const nameOf = (url: URL): string => `${url.origin}${url.pathname}`
