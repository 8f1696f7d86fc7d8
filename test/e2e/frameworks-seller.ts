import type { GatewayOptions } from '../../src/config/options.ts'
import type { Gateway } from '../../src/gateway.ts'
import type { SvcPayment } from '../../src/protocol/access.ts'
import type { Route } from '../../src/protocol/catalog.ts'

export const CENT = 10_000n
export const DOWNLOAD_BYTES = 50 * 1024 * 1024

/** What the seller's app sells per call; every framework serves the same. */
export const ROUTES: Route[] = [
  { routeId: 'weather', method: 'GET', path: '/sell/weather/:city', unitAmount: '$0.01' },
  { routeId: 'echo', method: 'POST', path: '/sell/echo', unitAmount: '$0.01' },
  { routeId: 'download', method: 'GET', path: '/sell/download', unitAmount: '$0.01' },
  { routeId: 'moody', method: 'GET', path: '/sell/moody', unitAmount: '$0.01' },
  { routeId: 'slow', method: 'GET', path: '/sell/slow', unitAmount: '$0.01' },
  { routeId: 'lenient', method: 'GET', path: '/sell/lenient', unitAmount: '$0.01' },
]

class Gate {
  open: () => void = () => {}
  readonly promise = new Promise<void>((resolve) => {
    this.open = resolve
  })
}

/** The part of a seller's app that is the same in every framework, and what tests see and steer of it. */
export class Seller {
  /** What each handler was called with, oldest first. */
  readonly runs: Array<{ routeId: string; payment: SvcPayment | undefined }> = []
  mood: 'good' | 'answers-500' | 'throws' | 'answers-404' = 'good'
  producedBytes = 0
  /** Holds `slow` until it is opened. */
  gate = new Gate()

  enter(routeId: string, payment: SvcPayment | undefined): void {
    this.runs.push({ routeId, payment })
  }

  /** As if nothing had been called yet. */
  startOver(): void {
    this.mood = 'good'
    this.runs.length = 0
    this.producedBytes = 0
    this.gate = new Gate()
  }

  count(challengeId: string): number {
    return this.runs.filter(({ payment }) => payment?.challengeId === challengeId).length
  }

  /** The download, made as it is read, always of the same bytes: only who keeps them makes memory grow. */
  *chunks(): Generator<Buffer> {
    const chunk = Buffer.alloc(64 * 1024, 'paystile')
    for (let sent = 0; sent < DOWNLOAD_BYTES; sent += chunk.length) {
      this.producedBytes += chunk.length
      yield chunk
    }
  }

  /** What `moody` and `slow` do about it: a status, or an exception. */
  answer(): { status: 200 | 404 | 500; body: { mood: string } } {
    if (this.mood === 'throws') throw new Error('the seller has a bug')
    const status = this.mood === 'answers-500' ? 500 : this.mood === 'answers-404' ? 404 : 200
    return { status, body: { mood: this.mood } }
  }
}

/** Starts the seller's app with the gateway mounted at `basePath`. */
export type StartApp = (app: {
  gateway: Gateway
  seller: Seller
  basePath: string
  port: number
}) => Promise<{ close(): Promise<void> }>

/** One way to sell. Embedded, the seller's own answer goes out; standalone, the gateway calls and wraps it. */
export interface App {
  name: string
  embedded: boolean
  prepare(seller: Seller): Promise<{ options: Partial<GatewayOptions>; start: StartApp }>
}
