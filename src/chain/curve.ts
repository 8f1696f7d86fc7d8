import { readFileSync } from 'node:fs'

/** secp256k1. All calls are synchronous. The caller must pass signatures and keys of the stated length. */
export interface Curve {
  /** The signer's public key (64 bytes, x and y); undefined if r and s are not a signature. */
  recover(digest: Uint8Array, signature: Uint8Array, recoveryId: number): Uint8Array | undefined
  /** Deterministic (RFC 6979), with the low s; r and s are 64 bytes. */
  sign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recoveryId: number }
}

// Node has it, but the types of its oldest supported release do not.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

/** What scripts/curve.c exports. */
interface Exports {
  memory: { buffer: ArrayBuffer }
  open(): number
  recover(recoveryId: number): number
  sign(): number
}

// Offsets of the buffers in scripts/curve.c, from the address that open() returns.
const SIGNATURE = 32
const PRIVATE_KEY = 96
const PUBLIC_KEY = 128
const END = 193

let loaded: Curve | undefined

/**
 * libsecp256k1 as WebAssembly: the same code on every platform, about ten times faster than JavaScript. The first
 * call reads and compiles it, so make it at startup. The file is built by scripts/build-curve.mjs.
 */
export function loadCurve(): Curve {
  loaded ??= open()
  return loaded
}

function open(): Curve {
  const module = new WebAssembly.Module(readFileSync(new URL('../chain/curve.wasm', import.meta.url)))
  const { memory, ...calls } = new WebAssembly.Instance(module).exports as Exports
  const start = calls.open()
  // The module never allocates, so its memory does not move. One buffer is enough for all callers, because each use
  // is synchronous.
  const buffer = new Uint8Array(memory.buffer, start, END)

  return {
    recover(digest, signature, recoveryId) {
      buffer.set(checkLength(digest, 32), 0)
      buffer.set(checkLength(signature, 64), SIGNATURE)
      // The first byte only says that x and y follow.
      return calls.recover(recoveryId) === 1 ? buffer.slice(PUBLIC_KEY + 1, END) : undefined
    },

    sign(digest, privateKey) {
      buffer.set(checkLength(digest, 32), 0)
      buffer.set(checkLength(privateKey, 32), PRIVATE_KEY)
      const recoveryId = calls.sign()
      buffer.fill(0, PRIVATE_KEY, PUBLIC_KEY)
      if (recoveryId < 0) throw new Error('the private key is not a number from 1 to below the curve order')
      return { signature: buffer.slice(SIGNATURE, PRIVATE_KEY), recoveryId }
    },
  }
}

function checkLength(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes
  throw new Error(`${bytes.length} bytes where the curve needs ${length}`)
}
