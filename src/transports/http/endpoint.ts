import type { Engine } from '../../engine/outcome.ts'
import type { PaymentPage } from '../people/payment-page.ts'
import type { PassOn } from './pass-on.ts'
import type { BodyLimits } from './read-body.ts'
import type { ReadSpender } from './read-spender.ts'
import type { Dialects, OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'
import type { Peer, Safeguards } from './safeguards.ts'
import type { SignIn } from './sign-in.ts'

/** Answers one path and method. A Response goes out as it is: its body streams from elsewhere. */
export type Endpoint = (request: Request, peer: Peer) => Reply | Response | Promise<Reply | Response>
export type Methods = Record<string, Endpoint>

/** Adds endpoints, by their paths below the base path: those of another transport, or documents. */
export type Mount = (context: EndpointContext) => Record<string, Methods>

/** What every endpoint works with. */
export interface EndpointContext extends Safeguards {
  engine: Pick<Engine, 'offer' | 'purchase' | 'status'>
  /** How buyers speak of payments. */
  dialects: Dialects
  limits: BodyLimits
  /** Passes on answers that stream from elsewhere. */
  passOn: PassOn
  render: OutcomeRenderer
  /** The path of the gateway's base URL, which every endpoint starts with. Empty, or without a slash at the end. */
  basePath: string
  /** Shows the 402 of a call to people. Absent: they get what agents get. */
  paymentPage?: PaymentPage
  /** Absent: nothing can be fetched again by a wallet's sign-in. */
  signIn?: SignIn
  /** Absent: no plan grants credits or once did. */
  credits?: Credits
}

/** Spending what plans granted. */
export interface Credits extends Pick<Engine, 'spend' | 'balance'> {
  /** Who spends. */
  readSpender: ReadSpender
  /** The ids of the plans that grant credits, and then of those that once did. */
  planIds: readonly string[]
}
