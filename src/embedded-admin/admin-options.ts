import type { Gateway } from '../gateway-api.ts'
import type { Peer } from '../transports/http/safeguards.ts'

/** What the operator's pages need of a gateway. */
export type AdminGateway = Pick<
  Gateway,
  'backstage' | 'cancel' | 'retryRefund' | 'proveRefund' | 'closeCredits' | 'discovery'
>

/** What `paystileAdmin` takes. */
export interface AdminOptions {
  /** Opens the dashboard and its API; 16 characters or more, and a secret. */
  token: string | undefined
  /** The operator's agent at `…/mcp` may change things, and not only look. Default false. */
  mcpWrites?: boolean
}

/** The options of {@link AdminOptions}. */
export const ADMIN_OPTIONS: readonly string[] = Object.keys({ token: true, mcpWrites: true } satisfies Record<
  keyof AdminOptions,
  true
>)

/** Answers what is below `mount`; undefined: it is the seller's. */
export type EmbeddedAdmin = (request: Request, mount: string, peer: Peer) => Promise<Response | undefined>
