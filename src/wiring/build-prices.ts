import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { PriceService } from '../delivery/ask-price.ts'

/** Undefined: every price is fixed. */
export async function buildPrices({ routes }: ResolvedConfig): Promise<PriceService | undefined> {
  const computed = routes.filter(({ maxAmount, scheme }) => maxAmount !== undefined && scheme === undefined)
  if (computed.length === 0) return undefined
  const { createPriceService } = await import('../delivery/ask-price.ts')
  return createPriceService(computed)
}
