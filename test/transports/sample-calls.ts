import type { EmbeddedGateway } from '../../src/frameworks/embedding.ts'
import type { CapturedAnswer } from '../../src/transports/http/charged.ts'

export type CallKind = 'paid' | 'prepaid' | 'metered'
export const CALL_KINDS: readonly CallKind[] = ['paid', 'prepaid', 'metered']

/** A gateway that takes every call for paid once `settle` was called, and notes how each ended. */
export function sampleCalls(kind: CallKind) {
  const finished: number[] = []
  let asked = 0
  let settle: () => void = () => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })
  let answer: (response: Response) => void = () => {}
  const response = new Promise<Response>((resolve) => {
    answer = resolve
  })
  const payment = { routeId: 'weather', ...(kind === 'prepaid' && { credits: { planId: 'basic' } }) }
  const metered = {
    ...{ kind, payment, maxBytes: 1000, charge: () => {}, response },
    finish({ status, body }: CapturedAnswer) {
      finished.push(status)
      answer(new Response(body as string | null, { status }))
      return response
    },
  }
  const paid = {
    ...{ kind: 'paid', payment, headers: { 'payment-response': 'receipt' } },
    headersFor: (status: number) => ({ 'x-told': status === 200 ? 'earned' : 'goes back' }),
    finish: async (status: number) => void finished.push(status),
  }
  const gateway = {
    discovery: { routes: [{ routeId: 'weather' }] },
    handle: async () => undefined,
    async chargeRoute() {
      asked++
      await settled
      return kind === 'metered' ? metered : paid
    },
  } as unknown as EmbeddedGateway
  return { gateway, finished, settle, asked: () => asked }
}

/** The same, where payments settle at once. */
export function settledCalls(kind: CallKind) {
  const calls = sampleCalls(kind)
  calls.settle()
  return calls
}
