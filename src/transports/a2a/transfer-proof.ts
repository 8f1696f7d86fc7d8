import { z } from 'zod'
import { Bytes32Schema, SignatureSchema } from '../../protocol/hex.ts'
import { type Countable, countedProof } from '../http/admit.ts'

/** The type of the data part that proves a plain transfer. */
export const PROOF_TYPE = 'PaymentProof'

export const ProofSchema = z.object({
  challengeId: z.string().max(160).optional(),
  txHash: Bytes32Schema,
  signature: SignatureSchema,
  /** CAIP-2 id; needed only if the gateway is paid on several networks. */
  network: z.string().max(80).optional(),
})

/** The proof among the parts of a message, before the protocol's library has read them, as it is counted. */
export function proofInParts(parts: unknown): Countable | undefined {
  if (!Array.isArray(parts)) return undefined
  for (const data of parts.flatMap(dataOf)) {
    if (data.type !== PROOF_TYPE) continue
    const proof = ProofSchema.safeParse(data)
    if (proof.success) return countedProof(proof.data)
  }
  return undefined
}

/** 0.3 and 1.0 both have `data`; 0.3 can also put it one level deeper, into `value`. */
function dataOf(part: unknown): Array<Record<string, unknown>> {
  const { data } = (part ?? {}) as { data?: unknown }
  const { value } = (data ?? {}) as { value?: unknown }
  return [data, value].filter((one) => typeof one === 'object' && one !== null) as Array<
    Record<string, unknown>
  >
}
