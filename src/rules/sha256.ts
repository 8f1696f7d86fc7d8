import crypto from 'node:crypto'

/** Exists since Node 20.12. It needs no object per hash, and takes half the time. */
const oneShot: ((algorithm: string, data: string | Uint8Array, encoding: 'hex') => string) | undefined =
  'hash' in crypto ? crypto.hash : undefined

/** SHA-256 in hex. */
export function sha256(data: string | Uint8Array): string {
  return oneShot ? oneShot('sha256', data, 'hex') : crypto.createHash('sha256').update(data).digest('hex')
}

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/**
 * HMAC-SHA-256 (RFC 2104) under one key, of some bytes followed by a text, in hex. What depends only on the key is
 * computed once, and the buffers are reused: every 402 needs one HMAC.
 */
export function createMac(key: Uint8Array): (head: Uint8Array, text: string) => string {
  if (!oneShot)
    return (head, text) => crypto.createHmac('sha256', key).update(head).update(text).digest('hex')
  const block = Buffer.alloc(BLOCK_BYTES)
  block.set(key.length > BLOCK_BYTES ? Buffer.from(sha256(key), 'hex') : key)
  let inner: Buffer = block.map((byte) => byte ^ 0x36) as Buffer
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES)
  outer.set(block.map((byte) => byte ^ 0x5c))
  return (head, text) => {
    const start = BLOCK_BYTES + head.length
    // No character takes more than three bytes.
    const most = start + 3 * text.length
    if (inner.length < most) inner = Buffer.concat([inner.subarray(0, BLOCK_BYTES)], most)
    inner.set(head, BLOCK_BYTES)
    const end = start + inner.write(text, start)
    outer.write(sha256(inner.subarray(0, end)), BLOCK_BYTES, 'hex')
    return sha256(outer)
  }
}
