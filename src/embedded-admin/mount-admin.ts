import { ConfigError } from '../errors.ts'
import { optionFaults } from '../protocol/option-faults.ts'
import { ADMIN_OPTIONS, type AdminGateway, type AdminOptions, type EmbeddedAdmin } from './admin-options.ts'

const MIN_TOKEN_LENGTH = 16

/**
 * The operator's pages for an application of the seller's own. What they are made of is loaded when somebody first asks for
 * them. Throws ConfigError for a token that is missing or too short, and for a misspelt option. `known`: options that the
 * framework has besides.
 */
export function mountAdmin(
  gateway: AdminGateway,
  options: AdminOptions,
  known: readonly string[] = [],
): EmbeddedAdmin {
  const fault = tokenFault(options?.token)
  const faults = [
    ...(fault ? [`token ${fault}`] : []),
    ...optionFaults(options ?? {}, [...ADMIN_OPTIONS, ...known]),
  ]
  if (faults.length > 0) throw new ConfigError(faults.map((one) => `paystileAdmin: ${one}`))
  let opened: Promise<EmbeddedAdmin> | undefined
  return async (request, mount, peer) => {
    opened ??= import('./open-admin.ts').then(({ openAdmin }) => openAdmin(gateway, options))
    return (await opened)(request, mount, peer)
  }
}

function tokenFault(token: unknown): string | undefined {
  const example = 'for example the output of: openssl rand -hex 32'
  if (typeof token !== 'string' || token === '')
    return `is missing; it is a text that you keep secret, ${example}`
  if (/\s/.test(token))
    return `has a space in it, with which no script could send it; take another, ${example}`
  if (token.length >= MIN_TOKEN_LENGTH) return undefined
  return `has ${token.length} characters; it needs at least ${MIN_TOKEN_LENGTH}, ${example}`
}

/**
 * Where the pages are in this path, by the pattern that a framework matched: `/:shop/office` or `/:shop/office/*` in
 * `/acme/office/api/overview` is `/acme/office`.
 */
export function mountIn(path: string, pattern: string): string {
  const depth = pattern.replace(/\/?\*$/, '').split('/').length
  return path.split('/').slice(0, depth).join('/').replace(/\/$/, '')
}
