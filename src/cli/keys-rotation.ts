import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { pemBlocks } from '../delivery/pem-blocks.ts'
import { receiptKeys } from '../delivery/receipt-keys.ts'
import { parseSecretKeys } from '../delivery/secret-keys.ts'
import { rsaKeys } from '../delivery/token-keys.ts'
import { ConfigError } from '../errors.ts'

/** A secret that can be replaced without touching money. */
export interface Rotatable {
  /** Ids of its keys, newest first, which say nothing about the keys; empty if it has one value and no id. */
  idsOf(value: string, name: string): string[]
  /** The value to set in place of this one. */
  next(value: string, name: string): string
  /** What a rotation means for what was made before. */
  means: string
}

const text = (means: string): Rotatable => ({
  idsOf: () => [],
  next: () => randomBytes(32).toString('hex'),
  means,
})

/** Of older keys only the public half is kept: they verify, and sign nothing any more. */
const publicHalf = (pem: string): string =>
  createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString().trim()

const pemList = (newest: string, value: string): string =>
  [newest.trim(), ...pemBlocks(value).map(publicHalf)].join('\n')

const TRIES = 100

/** Puts a new key in front of the list. A new one may have the one-byte id of another; then it is drawn again. */
function nextSecretKey(value: string, name: string): string {
  for (let turn = 0; ; turn++) {
    const list = [randomBytes(32).toString('hex'), value].join(',')
    try {
      parseSecretKeys(list, name)
      return list
    } catch (error) {
      if (!(error instanceof ConfigError) || turn >= TRIES || !/same key id/.test(error.message)) throw error
    }
  }
}

/** By the names of their variables. Wallets are not among them: a new wallet is another address, and money must be moved. */
export const ROTATABLE: Readonly<Record<string, Rotatable>> = {
  SVC_SECRET_KEY: {
    idsOf: (value, name) => parseSecretKeys(value, name).sealing.map(({ id }) => id),
    next: nextSecretKey,
    means: 'open challenges, stored results and signed receipts from before stay valid by the older keys',
  },
  TOKEN_PRIVATE_KEY: {
    idsOf(value, name) {
      const keys = rsaKeys(value, name)
      return keys.alg === 'RS256' ? keys.keys.map(({ kid }) => kid) : []
    },
    next(value) {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      return pemList(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), value)
    },
    means: 'tokens from before stay valid: the public halves of older keys are still published',
  },
  RECEIPT_PRIVATE_KEY: {
    idsOf: (value, name) => receiptKeys([], value, name).keys.map(({ thumbprint }) => thumbprint),
    next(value) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return pemList(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), value)
    },
    means: 'receipts from before stay verifiable: the public halves of older keys are still published',
  },
  TOKEN_SECRET: text(
    'tokens from before END at the next start, because HS256 has one secret; buyers fetch a new one by sending their payment again',
  ),
  ADMIN_TOKEN: text('the old one ends at the next start; commands and dashboards need the new one'),
  METRICS_TOKEN: text('the old one ends at the next start; give Prometheus the new one'),
  PROXY_SECRET: text(
    'let your backend accept both first: calls are signed with the new one from the next start',
  ),
  ISSUE_TOKEN_API_SECRET: text(
    'let your token API accept both first: the new one is sent from the next start',
  ),
}
