import { privateKeyToAddress } from 'viem/accounts'
import { canonicalKey, privateKeyFault } from './check-wallet.ts'
import { SECRET_VARIABLES } from './secret-variables.ts'

/** What may be told of a secret so that its owner knows which one it is: a wallet's address, a URL's host. */
export function secretHint(name: string, text: string): string | undefined {
  switch (SECRET_VARIABLES[name]) {
    case 'wallet-key': {
      const keys = text.split(',').map((key) => key.trim())
      if (keys.some((key) => privateKeyFault(key) !== undefined)) return undefined
      return keys.map((key) => privateKeyToAddress(canonicalKey(key))).join(', ')
    }
    case 'url':
      // By hand: URLs of sentinels name several hosts. An "@" after a "/" may belong to a password or a path: then nothing is told.
      return /^[a-z+]+:\/\/(?:[^/@]*@)?([\w.,:[\]-]+)(?:[/?#][^@]*)?$/i.exec(text)?.[1]
    default:
      return undefined
  }
}
