import { createKeccak } from 'hash-wasm'
import { keccak256 } from 'viem/utils'

export type Keccak = (bytes: Uint8Array) => Uint8Array

export const pureKeccak: Keccak = (bytes) => keccak256(bytes, 'bytes')

let loading: Promise<Keccak> | undefined

/** keccak-256 by WebAssembly, some ten times faster than by JavaScript; where that is switched off, by JavaScript. */
export function loadKeccak(): Promise<Keccak> {
  loading ??= createKeccak(256).then(
    (hasher): Keccak =>
      (bytes) =>
        // One instance serves everybody: nothing can come in between, for the three calls are synchronous.
        hasher.init().update(bytes).digest('binary'),
    () => pureKeccak,
  )
  return loading
}
