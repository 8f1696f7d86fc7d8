import { configurationTarget } from './configuration.ts'
import { amountsTarget, mppHeadersTarget, paymentHeaderTarget } from './decoders.ts'
import { a2aTarget, accessTarget, mcpTarget, routesTarget } from './endpoints.ts'
import { pathsTarget } from './paths.ts'
import { prepaidTarget } from './prepaid.ts'
import { receiptsTarget } from './receipts.ts'
import { signInTarget } from './sign-in.ts'
import { signaturesTarget } from './signatures.ts'
import type { Target } from './target.ts'

export const TARGETS: readonly Target[] = [
  paymentHeaderTarget,
  signInTarget,
  prepaidTarget,
  mppHeadersTarget,
  amountsTarget,
  pathsTarget,
  configurationTarget,
  signaturesTarget,
  receiptsTarget,
  accessTarget,
  routesTarget,
  a2aTarget,
  mcpTarget,
]
