import { createKeccak } from 'hash-wasm'
import { keccak256 } from 'viem/utils'

export type Keccak = (bytes: Uint8Array) => Uint8Array

export const pureKeccak: Keccak = (bytes) => keccak256(bytes, 'bytes')

let loading: Promise<Keccak> | undefined

/** keccak-256 in WebAssembly, about ten times faster than in JavaScript; JavaScript if WebAssembly is disabled. */
export function loadKeccak(): Promise<Keccak> {
  loading ??= createKeccak(256).then(
    (hasher): Keccak =>
      (bytes) =>
        // One instance is enough for all callers: the three calls are synchronous, so nothing can come in between.
        hasher.init().update(bytes).digest('binary'),
    () => pureKeccak,
  )
  return loading
}
