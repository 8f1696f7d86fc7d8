import type { OptionReader } from './option-reader.ts'
import type { BackendConfig, CredentialConfig } from './resolved-config.ts'
import { templatePath } from './url-fault.ts'

const EXAMPLE = 'https://api.example.com/v1/{resourceId}'

/**
 * Plans sell a token for the resource endpoint, so a server must answer there. The standalone server answers if it can check
 * the token and has a backend to pass calls on to; otherwise, with its own address as endpoint, buyers would pay for a 404.
 * An embedding server has its own handlers, which are not known here.
 */
export function checkResource(
  reader: OptionReader,
  sold: {
    plans: readonly unknown[]
    credential: CredentialConfig
    backend: BackendConfig
    baseUrl: string
    resourceEndpoint: string
    guarded: string | undefined
  },
): void {
  if (sold.plans.length === 0 || sold.guarded !== undefined || reader.settable('fetchResource')) return
  if (templatePath(sold.resourceEndpoint, sold.baseUrl) === undefined) return
  const foreign = sold.credential.kind === 'api'
  // A faulty backend has been reported already, and so have tokens that nobody can issue.
  const { backend, credential } = sold
  const isReported = (backend.kind === 'embedded' && !backend.idle) || credential.kind === 'none'
  if (!foreign && isReported && reader.value('proxyTo') !== undefined) return
  const example = reader.example('resourceEndpoint', EXAMPLE)
  const proxy = reader.label('proxyTo')
  if (reader.value('resourceEndpoint') === undefined) {
    if (foreign) {
      const api = reader.label('issueTokenApi')
      const why = `it says where tokens of ${api} are used, which this server cannot check itself, for example ${example}`
      reader.miss(['resourceEndpoint'], why)
    } else {
      const why = `plans need somebody who answers their tokens: your own server, for example ${example}, or the backend to which this server passes calls that bring one`
      reader.miss(['resourceEndpoint', 'proxyTo'], why)
    }
    return
  }
  const mend = foreign
    ? `it cannot check tokens of ${reader.label('issueTokenApi')}. Give the address of the server that does`
    : `it has no backend to pass them on to. Set ${proxy}, or give the address of your own server`
  reader.fault(
    'resourceEndpoint',
    `leads to this server, which would answer buyers with 404: ${mend}, for example ${example}. If a proxy in front sends that path elsewhere, give ${reader.label('baseUrl')} a path of its own.`,
  )
}
