import type { Offer, WalletProof } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import type { Random } from '../../ports.ts'
import { readProof, readProofHeader } from './read-proof.ts'
import { createSignInWriter, type SignInOffer } from './write-offer.ts'

/** Sign-in-with-x: how a wallet proves itself, and how it is told what to sign. */
export interface Siwx {
  /** The extension's member of a 402: `"sign-in-with-x":{…}`; undefined for what cannot be fetched again. */
  member(offer: Pick<Offer, 'kind' | 'rails'>): string | undefined
  /** What to sign for the endpoint at this path, on one of these networks; by default on any. */
  offer(path: string, networks?: readonly string[]): SignInOffer
  /** A proof as the header has it, or as JSON, that was signed for the endpoint at this path. */
  read(proof: unknown, path: string): WalletProof | GatewayError
}

export interface SiwxParts {
  /** Where buyers reach the gateway; without a slash at the end. */
  baseUrl: string
  /** CAIP-2. */
  networks: readonly string[]
  now(): number
  random: Random
}

export function createSiwx({ baseUrl, networks, now, random }: SiwxParts): Siwx {
  const { origin, pathname } = new URL(baseUrl)
  const accessPath = `${pathname.replace(/\/+$/, '')}/x402/access`
  const { member, offer } = createSignInWriter({ origin, accessPath, networks }, { now, random })
  return {
    member,
    offer,
    read(proof, path) {
      const place = { origin, path, networks, now: now() }
      return typeof proof === 'string' ? readProofHeader(proof, place) : readProof(proof, place)
    },
  }
}
