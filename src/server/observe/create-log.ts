import { type Logger, pino } from 'pino'
import { printable } from '../../protocol/printable.ts'
import type { Redactor } from './create-redactor.ts'

export type { Logger }

/** One JSON object per line, with words for levels and ISO times. Every line passes the redactor on its way out. */
export function createLog(level: string, redactor: Redactor, write: (line: string) => void): Logger {
  return pino(
    {
      level,
      base: undefined,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // No code logs these today; they are removed in case somebody logs a whole request.
      redact: {
        paths: ['headers', 'payment', 'signature', 'token', 'accessToken', 'authorization', 'req', 'request'],
        censor: '[redacted]',
      },
    },
    { write: (line) => write(printable(redactor.clean(line))) },
  )
}
