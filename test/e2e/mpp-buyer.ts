import { Credential } from 'mppx'
import { Mppx } from 'mppx/client'
import { assets, charge } from 'mppx/evm/client'
import type { LocalAccount } from 'viem'
import { encodeUrl } from '../../src/dialects/mpp/words.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'

/** A credential as it goes over the wire, taken apart so that a test can bend it. */
export interface WireCredential {
  challenge: Record<string, string>
  payload: Record<string, string>
  source?: string
}

/** The unmodified client, what it sent, and how often it signed. */
export function mppBuyer(account: LocalAccount) {
  const sent: Headers[] = []
  const signed = { times: 0 }
  const counting: LocalAccount = {
    ...account,
    signTypedData(data) {
      signed.times++
      return account.signTypedData(data)
    },
  }
  const client = Mppx.create({
    methods: [charge({ account: counting, currencies: [assets.baseSepolia.USDC], maxAmount: '5' })],
    fetch: (async (...asked: Parameters<typeof fetch>) => {
      const [input, init] = asked
      const own = typeof input === 'object' && 'headers' in input ? input.headers : undefined
      sent.push(new Headers(init?.headers ?? own))
      return fetch(...asked)
    }) as typeof fetch,
    polyfill: false,
  })
  return {
    sent,
    signed,
    fetch: client.fetch,
    /** The header that would pay for this request, not sent yet. */
    async credential(url: string, init: RequestInit = {}): Promise<string> {
      const { payment } = await client.prepareRequest(url, init, { requirePayment: true })
      return payment!.createCredential({})
    },
  }
}

export function unwrap(header: string): WireCredential {
  return decodeJsonObject(Credential.extractPaymentScheme(header)!.slice('Payment '.length)) as never
}

export const wrap = (credential: object): string => `Payment ${encodeUrl(credential)}`

export interface Changes {
  challenge?: Record<string, unknown>
  payload?: Record<string, unknown>
  source?: string | undefined
}

/** The same credential with something changed. */
export function bent(header: string, changes: Changes): string {
  const { challenge, payload, ...rest } = unwrap(header)
  return wrap({
    ...rest,
    ...('source' in changes && { source: changes.source }),
    challenge: { ...challenge, ...changes.challenge },
    payload: { ...payload, ...changes.payload },
  })
}

/** `request` of a challenge with something changed. */
export function bentRequest(header: string, change: (request: Record<string, unknown>) => object): string {
  return encodeUrl(change(decodeJsonObject(unwrap(header).challenge.request!) as never))
}

export const post = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})
