import { baseUrlFault, urlFault } from '../config/url-fault.ts'
import { type JsonObject, listOf, objectOf, textOf } from './local-refs.ts'
import type { Description } from './read-description.ts'

export type ChosenServer = { baseUrl: string; note?: string } | { fault: string }

/** The servers of a description, or of a part of it, as whole addresses where that is possible. */
export function serversOf(part: JsonObject, from: string | undefined): string[] {
  return listOf(part.servers).flatMap((server) => {
    const { url, variables } = objectOf(server)
    if (typeof url !== 'string') return []
    const filled = url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
      const value = objectOf(objectOf(variables)[name]).default
      return textOf(value) ?? (typeof value === 'number' ? String(value) : whole)
    })
    const address = from !== undefined && URL.canParse(filled, from) ? new URL(filled, from).href : filled
    return [address.replace(/\/+$/, '')]
  })
}

/** `wanted`: the number of a server, counted from 1, or an address; undefined: the first. */
export function chooseServer(
  { document, url, name }: Pick<Description, 'document' | 'url' | 'name'>,
  wanted?: string,
): ChosenServer {
  const servers = serversOf(document, url)
  if (wanted !== undefined && !/^\d+$/.test(wanted)) return usable(wanted, '--server')
  const list = servers.map((server, index) => `${index + 1} ${server || '/'}`).join(', ')
  if (servers.length === 0) {
    return { fault: `${name} has no servers, so the address of the API is not known; give --server URL.` }
  }
  const number = Number(wanted ?? 1)
  const server = servers[number - 1]
  if (server === undefined) return { fault: `--server ${wanted}: ${name} has ${list}.` }
  const chosen = usable(server, `Server ${number} of ${name}`)
  if ('fault' in chosen || wanted !== undefined || servers.length === 1) return chosen
  return {
    ...chosen,
    note: `It names ${servers.length} servers: ${list}. The first is used; --server 2 takes the second.`,
  }
}

function usable(address: string, what: string): ChosenServer {
  if (!URL.canParse(address)) {
    return {
      fault: `${what} is no whole address (${JSON.stringify(address.slice(0, 80))}); give --server URL.`,
    }
  }
  const fault = urlFault(address) ?? baseUrlFault(address)
  return fault === undefined ? { baseUrl: address.replace(/\/+$/, '') } : { fault: `${what} ${fault}.` }
}
