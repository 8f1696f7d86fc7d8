import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { Shop } from './shop.ts'

/** A private key, and the public half that stays published when another one signs. */
export function keyPair(kind: 'rsa' | 'ec') {
  const { privateKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    secret: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    published: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString(),
  }
}

/** Every instance in turn is stopped and started with the settings of now, while the other one sells. */
export async function restartAll(shop: Shop): Promise<void> {
  for (const index of shop.instances.keys()) await shop.replace(index, 'SIGTERM')
}
