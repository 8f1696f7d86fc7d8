import type { Engine } from '../../engine/outcome.ts'
import type { BodyLimits } from './read-body.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'
import type { Peer, Safeguards } from './safeguards.ts'
import type { Soon } from './soon.ts'

/** A Response is passed through as it is: something that streams from elsewhere. */
export type Endpoint = (request: Request, peer: Peer) => Soon<Reply | Response>
export type Methods = Record<string, Endpoint>

/** Further endpoints by path, below the base path: another transport, or documents. */
export type Mount = (desk: Desk) => Record<string, Methods>

/** What every endpoint works with. */
export interface Desk {
  engine: Pick<Engine, 'offer' | 'purchase' | 'status'>
  limits: BodyLimits
  render: OutcomeRenderer
  safe: Safeguards
  /** Every endpoint starts with it; empty, or without a slash at the end. */
  basePath: string
}
