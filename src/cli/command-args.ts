import type { Report } from './terminal.ts'

/** Runs a command's work and writes its report. */
export type Run = (asJson: boolean | undefined, work: () => Promise<Report | undefined>) => Promise<void>

export const json = {
  type: 'boolean',
  description: 'one JSON document on standard output, nothing else',
} as const

/** An option that takes a value. */
export const optional = (description: string, valueHint: string) =>
  ({ type: 'string', description, valueHint }) as const
