import { didYouMean } from '../protocol/did-you-mean.ts'
import { EVENT_TYPES, type EventType } from '../protocol/events.ts'
import { isAllowedHost, isLocalName, isPrivateAddress, literalAddress } from '../webhooks/private-address.ts'
import { secretFault } from '../webhooks/sign-webhook.ts'
import { kindOf, type OptionReader } from './option-reader.ts'
import type { WebhookOptions } from './options.ts'
import { quote } from './read-variable.ts'
import { urlFault } from './url-fault.ts'

/** An endpoint that is told of events. No secrets: one is derived from the secret key. */
export interface WebhookConfig {
  url: string
  secrets: string[]
  events: EventType[] | null
}

const NEW_SECRET = 'for example the output of: echo "whsec_$(openssl rand -base64 32)"'
const EXAMPLE_HOST = 'accounting.internal:8080'
const MEMBERS = ['url', 'secret', 'events'] satisfies Array<keyof WebhookOptions>
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i

/** The endpoints, and which hosts may be private. `realMoney`: some network is no testnet. */
export function readWebhooks(
  reader: OptionReader,
  realMoney: boolean,
): { webhooks: WebhookConfig[]; webhookAllowHosts: string[] } {
  const webhookAllowHosts = readHosts(reader)
  const webhooks = readList(reader).flatMap(({ url, secret, events, which }) => {
    const fault = endpointFault(reader, url, webhookAllowHosts, realMoney)
    if (fault !== undefined) reader.fault('webhooks', which + fault)
    const secrets = readSecrets(reader, secret, which)
    return [{ url: url.trim(), secrets, events: readEvents(reader, events, which) }]
  })
  const urls = webhooks.map(({ url }) => url)
  if (new Set(urls).size < urls.length) reader.fault('webhooks', 'names one URL twice; keep it once.')
  return { webhooks, webhookAllowHosts }
}

interface Given {
  url: string
  secret: unknown
  events: unknown
  /** For messages: which of several it is. */
  which: string
}

function readList(reader: OptionReader): Given[] {
  const value: unknown = reader.value('webhooks')
  if (value === undefined) return []
  if (reader.label('webhooks') !== 'webhooks') return fromVariables(reader, Object(value))
  if (!Array.isArray(value)) {
    const example = 'for example webhooks: [{ url: "https://example.com/hooks" }]'
    reader.fault('webhooks', `is ${kindOf(value)}; it must be a list, ${example}`)
    return []
  }
  return value.flatMap((one: unknown, index) => {
    const { url, secret, events, ...rest } = Object(one)
    const which = value.length > 1 ? `(endpoint ${index + 1} of ${value.length}) ` : ''
    const isObject = kindOf(one) === 'an object'
    if (isObject) refuseUnknown(reader, rest, which)
    if (typeof url === 'string') return [{ url, secret, events, which }]
    const found = isObject ? 'has no url' : `is ${kindOf(one)}`
    reader.fault('webhooks', `${which}${found}; an endpoint is { url: "https://…", secret: "whsec_…" }.`)
    return []
  })
}

function refuseUnknown(reader: OptionReader, rest: Record<string, unknown>, which: string): void {
  for (const [key, value] of Object.entries(rest)) {
    if (value === undefined) continue
    const help = didYouMean(key, MEMBERS) || `; it may have ${MEMBERS.join(', ')}.`
    reader.fault('webhooks', `${which}has an unknown member ${quote(key)}${help}`)
  }
}

/** In the environment URLs and secrets are two lists, separated by commas. */
function fromVariables(
  reader: OptionReader,
  { urls, secrets }: { urls?: unknown; secrets?: unknown },
): Given[] {
  const split = (list: unknown) =>
    typeof list === 'string' && list.trim() !== '' ? list.split(',').map((text) => text.trim()) : []
  const [places, keys] = [split(urls), split(secrets)]
  if (places.length === 0) {
    const example = reader.example('webhooks', 'https://example.com/hooks')
    reader.fault('webhooks.secrets', `is set without a URL, for example ${example}`)
    return []
  }
  if (keys.length > 0 && keys.length !== places.length) {
    const count = `has ${keys.length} for ${places.length} URLs`
    const example = reader.example('webhooks.secrets', places.map(() => 'whsec_…').join(','))
    reader.fault('webhooks.secrets', `${count}; give one per URL in the same order, for example ${example}`)
    return []
  }
  return places.map((url, index) => {
    const which = places.length > 1 ? `(URL ${index + 1} of ${places.length}) ` : ''
    return { url, secret: keys[index], events: undefined, which }
  })
}

/** Never repeats the URL, which may hold a key. */
function endpointFault(
  reader: OptionReader,
  text: string,
  allowed: readonly string[],
  realMoney: boolean,
): string | undefined {
  const example = `for example https://example.com/hooks`
  const fault = urlFault(text)
  if (fault !== undefined) return `${fault}, ${example}`
  const url = new URL(text)
  if (isAllowedHost(url, allowed)) return undefined
  const allow = `${reader.label('webhookAllowHosts')} allows`
  if (url.protocol === 'http:' && realMoney)
    return `is plain http; with real money it must be https, unless ${allow} its host, ${example}`
  const literal = literalAddress(url.hostname)
  const isPrivate = literal === undefined ? isLocalName(url.hostname) : isPrivateAddress(literal)
  if (!isPrivate) return undefined
  const allowing = reader.example('webhookAllowHosts', EXAMPLE_HOST)
  return `is a private address, which is not called unless ${allow} its host, for example ${allowing}`
}

function readSecrets(reader: OptionReader, secret: unknown, which: string): string[] {
  if (secret === undefined || secret === null || secret === '') return []
  // Options have no list of secrets of their own.
  const label = reader.label('webhooks.secrets') === 'webhooks.secrets' ? 'webhooks' : 'webhooks.secrets'
  const list: unknown[] = Array.isArray(secret) ? secret : [secret]
  const texts = list.flatMap((one) =>
    typeof one === 'string' ? one.split('|').map((part) => part.trim()) : one,
  )
  return texts.flatMap((text) => {
    const fault = typeof text === 'string' ? secretFault(text) : `is ${kindOf(text)}`
    if (fault === undefined) return [text as string]
    reader.fault(label, `${which}has a secret that ${fault}, ${NEW_SECRET}`)
    return []
  })
}

function readEvents(reader: OptionReader, events: unknown, which: string): EventType[] | null {
  if (events === undefined || events === null) return null
  const list: unknown[] = Array.isArray(events) ? events : [events]
  for (const one of list) {
    if (EVENT_TYPES.some((type) => type === one)) continue
    const name = typeof one === 'string' ? one.slice(0, 40) : kindOf(one)
    const help = didYouMean(name, EVENT_TYPES) || `; they are ${EVENT_TYPES.join(', ')}.`
    reader.fault('webhooks', `${which}asks for ${name}, which is no event${help}`)
  }
  if (list.length === 0)
    reader.fault('webhooks', `${which}has an empty list of events; leave it out for all.`)
  return list as EventType[]
}

function readHosts(reader: OptionReader): string[] {
  const hosts = (reader.texts('webhookAllowHosts', ',') ?? []).filter((host) => host !== '')
  for (const host of hosts) {
    if (HOST.test(host)) continue
    const example = reader.example('webhookAllowHosts', EXAMPLE_HOST)
    reader.fault('webhookAllowHosts', `names no host or host:port, for example ${example}`)
  }
  return hosts
}
