import { explorerOf } from '../config/explorer-of.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { createHandlerBackend } from '../delivery/handler-backend.ts'
import type { Seal } from '../delivery/seal.ts'
import type { Backend, Rail } from '../ports.ts'
import { chargeRulesOf } from './build-routes.ts'

/**
 * Answers metered calls by the seller's own handlers, and opens what such calls were answered, also when no route is metered
 * any more. Undefined: no rail is open for them.
 */
export function buildHandlers(
  config: ResolvedConfig,
  rails: readonly Pick<Rail, 'scheme'>[],
  seal: Seal,
  timeoutMs: number,
): Backend | undefined {
  if (!rails.some(({ scheme }) => scheme.metered)) return undefined
  const chargeRules = chargeRulesOf(config)
  const { maxResourceBytes: maxBytes } = config
  return createHandlerBackend({ seal, explorerTxUrl: explorerOf(config), chargeRules, timeoutMs, maxBytes })
}
