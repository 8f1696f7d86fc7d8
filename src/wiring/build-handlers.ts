import { explorerOf } from '../config/explorer-of.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { createHandlerBackend } from '../delivery/handler-backend.ts'
import type { Seal } from '../delivery/seal.ts'
import type { Backend } from '../ports.ts'
import { chargeRulesOf } from './build-routes.ts'

/** Answers metered calls by the seller's own handlers; undefined: no route is metered. */
export function buildHandlers(config: ResolvedConfig, seal: Seal, timeoutMs: number): Backend | undefined {
  const chargeRules = chargeRulesOf(config)
  if (chargeRules.size === 0) return undefined
  const { maxResourceBytes: maxBytes } = config
  return createHandlerBackend({ seal, explorerTxUrl: explorerOf(config), chargeRules, timeoutMs, maxBytes })
}
