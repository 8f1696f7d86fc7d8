import { durationWords } from '../protocol/duration.ts'
import { kindOf, type OptionReader } from './option-reader.ts'
import type { Limits } from './resolved-config.ts'

export const MAX_TOKEN_TTL_SECONDS = 315_360_000

interface Range {
  standard: number
  min: number
  max: number
}

const RANGES: Record<keyof Limits, Range> = {
  tokenTtlSeconds: { standard: 3600, min: 1, max: MAX_TOKEN_TTL_SECONDS },
  challengeTtlSeconds: { standard: 900, min: 1, max: 86_400 },
  settleWaitSeconds: { standard: 30, min: 0, max: 300 },
  pollIntervalMs: { standard: 1000, min: 10, max: 60_000 },
  refundIntervalSeconds: { standard: 60, min: 1, max: 86_400 },
  refundMinAgeSeconds: { standard: 300, min: 0, max: 604_800 },
  maxBodyBytes: { standard: 1_048_576, min: 1024, max: 104_857_600 },
  maxResourceBytes: { standard: 1_048_576, min: 1024, max: 33_554_432 },
  requestTimeoutSeconds: { standard: 30, min: 1, max: 3600 },
  rateLimitPerMinute: { standard: 600, min: 0, max: 1_000_000 },
  payerFailuresPerMinute: { standard: 30, min: 0, max: 1_000_000 },
  payerUndeliveredPerDay: { standard: 20, min: 0, max: 1_000_000 },
  payerLostGasPerDay: { standard: 1_500_000, min: 0, max: 1e12 },
  lostGasPerDay: { standard: 30_000_000, min: 0, max: 1e12 },
  retentionDays: { standard: 0, min: 0, max: 36_500 },
}

export const STANDARD_LIMITS: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(RANGES).map(([name, { standard }]) => [name, standard]),
)

export function readLimits(reader: OptionReader): Limits {
  const limits = {} as Limits
  for (const name of Object.keys(RANGES) as Array<keyof Limits>) {
    const { standard, min, max } = RANGES[name]
    const value: unknown = reader.value(name) ?? standard
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
      limits[name] = value
      continue
    }
    const found = typeof value === 'number' ? `${value}` : kindOf(value)
    const example = reader.example(name, standard)
    const most = name.endsWith('Seconds') ? `${max} (${durationWords(max)})` : max
    reader.fault(
      name,
      `is ${found}; it must be a whole number from ${min} to ${most}, for example ${example}`,
    )
    limits[name] = standard
  }
  return limits
}
