import { jsonFaultAt, placeOf } from '../config/json-fault.ts'
import { ConfigError } from '../errors.ts'
import { isObject, type JsonObject, objectOf, textOf } from './local-refs.ts'
import { parseYaml } from './parse-yaml.ts'

/** A description of an API, OpenAPI 3.0 or 3.1. */
export interface Description {
  /** What messages call it: a file's name or an address. */
  name: string
  title: string
  openapi: string
  document: JsonObject
  /** Where it came from; relative servers are resolved against it. */
  url?: string
}

export const MAX_BYTES = 10 * 1024 * 1024
const YAML_TIMEOUT_MS = 60_000

export interface ReadSettings {
  name: string
  url?: string | undefined
  maxBytes?: number
  /** For YAML, which takes long to parse. */
  timeoutMs?: number
}

/** Reads JSON or YAML; throws one line that says what is wrong with it. */
export async function readDescription(
  text: string,
  { name, url, maxBytes = MAX_BYTES, timeoutMs = YAML_TIMEOUT_MS }: ReadSettings,
): Promise<Description> {
  refuseSize(name, Buffer.byteLength(text), maxBytes)
  const document = await parsed(text.replace(/^\uFEFF/, ''), name, timeoutMs)
  const openapi = versionOf(document, name)
  if (!isObject(document.paths) || Object.keys(document.paths).length === 0) {
    throw new ConfigError([`${name} has no paths, so there is nothing to import.`])
  }
  const title = textOf(objectOf(document.info).title)?.trim() || name
  return { name, title, openapi, document, ...(url !== undefined && { url }) }
}

export function refuseSize(name: string, bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return
  const mega = (count: number) => `${Math.round((count / 1024 / 1024) * 10) / 10} MB`
  throw new ConfigError([
    `${name} has ${mega(bytes)}; a description may have ${mega(maxBytes)}. Take examples and unused schemas out.`,
  ])
}

async function parsed(text: string, name: string, timeoutMs: number): Promise<JsonObject> {
  const wrong = (what: string) => new ConfigError([`${name} ${what}`])
  const start = text.trimStart()
  if (start === '') throw wrong('is empty.')
  if (start.startsWith('<')) {
    throw wrong('is a web page or XML; give the address of the description itself, JSON or YAML.')
  }
  let value: unknown
  if (start.startsWith('{')) {
    try {
      value = JSON.parse(text)
    } catch {
      throw wrong(`is no valid JSON${placeOfFault(text)}.`)
    }
  } else {
    const read = await parseYaml(text, timeoutMs)
    if ('fault' in read) throw wrong(read.fault)
    value = read.value
  }
  if (!isObject(value)) throw wrong('is no OpenAPI description: it must be an object with a member openapi.')
  return value
}

function placeOfFault(text: string): string {
  try {
    const at = jsonFaultAt(text)
    return at === undefined ? '' : ` at ${placeOf(text, at)}`
  } catch {
    // Too long a text for the search.
    return ''
  }
}

function versionOf(document: JsonObject, name: string): string {
  const { openapi, swagger } = document
  if (openapi === undefined && swagger !== undefined) {
    throw new ConfigError([
      `${name} is Swagger ${String(swagger).slice(0, 10)}; convert it to OpenAPI 3 first, for example: npx swagger2openapi FILE -o openapi.json`,
    ])
  }
  // YAML reads 3.1 without quotes as a number.
  const version = typeof openapi === 'number' ? openapi.toFixed(1) : textOf(openapi)
  if (version === undefined) {
    throw new ConfigError([`${name} is no OpenAPI description: it has no member openapi, such as "3.1.0".`])
  }
  if (!/^3\.[01](\.|$)/.test(version)) {
    throw new ConfigError([
      `${name} says openapi ${version.slice(0, 20)}; versions 3.0 and 3.1 can be imported.`,
    ])
  }
  return version
}
