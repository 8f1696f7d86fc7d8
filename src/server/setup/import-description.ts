import { ConfigError } from '../../errors.ts'
import { chooseServer } from '../../openapi-import/choose-server.ts'
import { isUrl, loadUrl } from '../../openapi-import/load-description.ts'
import { type ImportPlan, planImport } from '../../openapi-import/plan-import.ts'
import { readDescription } from '../../openapi-import/read-description.ts'
import { RouteSchema } from '../../protocol/catalog.ts'

/** What the page shows before anything is taken over. */
export interface ImportPreview extends Pick<ImportPlan, 'title' | 'imported' | 'notImported' | 'notes'> {
  openapi: string
  /** Null: the description names no server that can be used; `backendFault` says why. */
  backend: string | null
  backendFault?: string
}

/** Of text that is pasted or uploaded, and of what an address answers. */
export const MAX_IMPORT_BYTES = 2 * 1024 * 1024
const TIMEOUT_MS = 15_000

/**
 * Reads a description for the setup page: `text`, or what answers at `url`, with the `routes` of the form. Nothing is saved.
 * The operator alone can ask for it. An address may be on the operator's own network, where APIs that are not yet public
 * usually are; a redirect to another host is not followed, and of an answer that is no description nothing is shown.
 */
export async function importDescription(body: Record<string, unknown>): Promise<ImportPreview> {
  const limits = { maxBytes: MAX_IMPORT_BYTES, timeoutMs: TIMEOUT_MS }
  const description = await descriptionOf(body, limits)
  const chosen = chooseServer(description)
  const server = 'fault' in chosen ? undefined : chosen.baseUrl
  const rows: unknown[] = Array.isArray(body.routes) ? body.routes : []
  const existing = rows.flatMap((row) => {
    const parsed = RouteSchema.safeParse(row)
    return parsed.success ? [parsed.data] : []
  })
  const { title, imported, notImported, notes } = planImport(description, { existing, server })
  return {
    title,
    openapi: description.openapi,
    backend: server ?? null,
    ...('fault' in chosen && {
      backendFault: chosen.fault.replace(/give --server URL/, 'fill in the backend below'),
    }),
    imported,
    notImported,
    notes,
  }
}

function descriptionOf(
  { text, url, name }: Record<string, unknown>,
  limits: { maxBytes: number; timeoutMs: number },
) {
  if (typeof url === 'string' && url.trim() !== '') {
    if (!isUrl(url.trim())) throw new ConfigError(['The address must begin with https:// or http://.'])
    return loadUrl(url.trim(), { sameHost: true, ...limits })
  }
  if (typeof text !== 'string' || text.trim() === '') {
    throw new ConfigError(['Give an address, choose a file, or paste a description.'])
  }
  return readDescription(text, { name: typeof name === 'string' && name ? name : 'The text', ...limits })
}
