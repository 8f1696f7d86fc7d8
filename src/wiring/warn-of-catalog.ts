import { catalogWarnings } from '../config/catalog-warnings.ts'
import type { OptionSource } from '../config/options.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'

/** Warns the caller of `createGateway` as Node.js warns. The standalone server has its own log, and tells it there. */
export function warnOfCatalog(config: ResolvedConfig, { labels }: OptionSource): void {
  if (labels) return
  for (const message of catalogWarnings(config, (list) => list)) {
    process.emitWarning(message, 'PaystileWarning')
  }
}
