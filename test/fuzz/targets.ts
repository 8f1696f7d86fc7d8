import { configurationTarget } from './configuration.ts'
import { amountsTarget, paymentHeaderTarget } from './decoders.ts'
import { a2aTarget, accessTarget, mcpTarget, routesTarget } from './endpoints.ts'
import { pathsTarget } from './paths.ts'
import { signaturesTarget } from './signatures.ts'
import type { Target } from './target.ts'

export const TARGETS: readonly Target[] = [
  paymentHeaderTarget,
  amountsTarget,
  pathsTarget,
  configurationTarget,
  signaturesTarget,
  accessTarget,
  routesTarget,
  a2aTarget,
  mcpTarget,
]
