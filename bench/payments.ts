import { randomBytes } from 'node:crypto'
import { encodeAbiParameters, keccak256, numberToHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { loadCurve } from '../src/chain/curve.ts'
import { loadKeccak } from '../src/chain/keccak.ts'
import type { Authorization } from '../src/protocol/authorization.ts'
import type { Address, Hex } from '../src/protocol/hex.ts'
import { NETWORKS } from '../src/protocol/networks.ts'
import { createAuthorizationDigest } from '../src/schemes/exact/authorization-digest.ts'
import type { DevChain } from '../src/testing/dev-chain.ts'
import artifact from '../src/testing/test-usdc.json' with { type: 'json' }
import { type Connection, headerOf, requestText } from './connection.ts'

export const PRICE_MICRO = 10_000n
export const PRICE = '$0.01'
const BALANCE_MICRO = 10_000_000n
const VALID_SECONDS = 1200
const RPC_BATCH = 500

interface Payer {
  privateKey: Hex
  address: Address
}

/** A signed authorization that no server has seen yet. */
export interface Payment {
  authorization: Authorization
  signature: Hex
}

const payers: Payer[] = []

/**
 * Buyers with money, who take turns, and signatures of theirs: made before the clock starts. The local chain slows down
 * with every account that it knows, so cells that are compared have equally many.
 */
export async function preparePayments(
  chain: DevChain,
  payTo: Address,
  count: number,
  payerCount: number,
): Promise<Payment[]> {
  while (payers.length < payerCount) {
    const privateKey = generatePrivateKey()
    payers.push({ privateKey, address: privateKeyToAccount(privateKey).address.toLowerCase() as Address })
  }
  const some = payers.slice(0, payerCount)
  await fund(chain, some)
  const network = NETWORKS.find(({ chainId }) => chainId === chain.chainId)!
  const digestOf = createAuthorizationDigest(network, await loadKeccak())
  const validBefore = String(Math.floor(Date.now() / 1000) + VALID_SECONDS)
  return Array.from({ length: count }, (_, index) => {
    const { privateKey, address } = some[index % payerCount]!
    const authorization: Authorization = {
      from: address,
      to: payTo.toLowerCase() as Address,
      value: String(PRICE_MICRO),
      validAfter: '0',
      validBefore,
      nonce: `0x${randomBytes(32).toString('hex')}`,
    }
    return { authorization, signature: sign(privateKey, digestOf(authorization)) }
  })
}

function sign(privateKey: Hex, digest: Uint8Array): Hex {
  const { signature, recoveryId } = loadCurve().sign(digest, Buffer.from(privateKey.slice(2), 'hex'))
  return `0x${Buffer.from(signature).toString('hex')}${(27 + recoveryId).toString(16)}`
}

/** Straight into the token's storage: a mint each would take longer than the measurement. */
async function fund(chain: DevChain, some: readonly Payer[]): Promise<void> {
  const value = numberToHex(BALANCE_MICRO, { size: 32 })
  const calls = some.map(({ address }, id) => {
    const entry = [{ type: 'address' }, { type: 'uint256' }] as const
    const slot = keccak256(encodeAbiParameters(entry, [address, BigInt(artifact.slots.balances.slot)]))
    return { jsonrpc: '2.0', id, method: 'anvil_setStorageAt', params: [chain.usdc, slot, value] }
  })
  for (let from = 0; from < calls.length; from += RPC_BATCH) {
    const body = JSON.stringify(calls.slice(from, from + RPC_BATCH))
    const headers = { 'content-type': 'application/json' }
    const answers = await (await fetch(chain.rpcUrl, { method: 'POST', headers, body })).json()
    if (!Array.isArray(answers) || answers.some((answer) => answer.error)) throw new Error('funding failed')
  }
}

/** How a purchase is asked for; the same request is sent again with the payment. */
export interface Asking {
  method: string
  path: string
  body: string
}

/** Asks for terms and pays them: two requests. Answers why it failed. */
export async function buy(
  connection: Connection,
  { method, path, body }: Asking,
  { authorization, signature }: Payment,
): Promise<string | undefined> {
  const offer = await connection.send(requestText(method, path, {}, body))
  const required = headerOf(offer.head, 'payment-required')
  if (offer.status !== 402 || required === undefined) return `HTTP ${offer.status} instead of a 402`
  const { accepts, resource } = JSON.parse(Buffer.from(required, 'base64').toString())
  const payload = { x402Version: 2, payload: { signature, authorization }, accepted: accepts[0], resource }
  const header = Buffer.from(JSON.stringify(payload)).toString('base64')
  const answer = await connection.send(requestText(method, path, { 'payment-signature': header }, body))
  return answer.status === 200 ? undefined : `HTTP ${answer.status}`
}
