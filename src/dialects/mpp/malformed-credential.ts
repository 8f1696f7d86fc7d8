import { GatewayError } from '../../errors.ts'

/** A credential that cannot be read. MPP tells it apart from other requests that are malformed. */
export class MalformedCredential extends GatewayError {
  constructor(fault: string) {
    super('INVALID_REQUEST', fault)
  }
}
