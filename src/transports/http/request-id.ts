import { GatewayError } from '../../errors.ts'
import { IdString } from '../../protocol/catalog.ts'

/** `Idempotency-Key` is another name of requestId; its draft standard writes it in quotes. */
export function chooseRequestId(
  fromBody: string | undefined,
  header: string | null,
): string | undefined | GatewayError {
  if (header === null) return fromBody
  const key = IdString.safeParse(header.replace(/^"(.*)"$/, '$1'))
  if (!key.success) return refuse(`the Idempotency-Key header ${key.error.issues[0]!.message}`)
  if (fromBody !== undefined && fromBody !== key.data) {
    return refuse('requestId of the body and the Idempotency-Key header differ; send one, or the same twice')
  }
  return key.data
}

function refuse(message: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', message)
}
